import { rm } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { temporaryDirectory } from '../support/folders.ts'
import { limitEach } from '../support/time-limit.ts'
import { runCommands } from './commands-run.ts'

// It starts dozens of commands as processes of their own.
limitEach(60)

test('commands of several shells beside a server that writes are neither refused nor lost', async () => {
  const directory = await temporaryDirectory()
  try {
    const { commands, served } = await runCommands(directory, { shells: 4, each: 2 })
    expect(commands).toBe(16)
    expect(served).toBeGreaterThan(2)
  } finally {
    await rm(directory, { recursive: true })
  }
})
