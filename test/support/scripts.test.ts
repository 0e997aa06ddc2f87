import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { access } from 'node:fs/promises'
import { dirname } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { limitEach } from '../support/time-limit.ts'
import { scriptPath } from './scripts.ts'

// Each run bundles all scripts.
limitEach(60)

const { SCRIPTS_OF_RUN: _, ...env } = process.env
const folderOf = (script: string) => dirname(dirname(script))
const isThere = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  )

/** The arguments of a concurrent run, which bundles, prints the path of a script and then runs some code. */
const run = (then: string) => [
  ...['--import', 'tsx', '--input-type=module', '--eval'],
  `import bundleScripts, { scriptPath } from './test/support/scripts.ts'
   await bundleScripts()
   console.log(scriptPath('src/cli/index.ts'))
   ${then}`,
]

test('runs in one clone bundle apart, remove their bundles, and those of runs that were killed', async () => {
  const killed = spawn(process.execPath, run('setInterval(() => {}, 1_000)'), { env })
  const [line] = (await once(killed.stdout, 'data')) as [Buffer]
  const left = line.toString().trim()
  expect(left).not.toBe(scriptPath('src/cli/index.ts'))
  expect(await isThere(left)).toBe(true)
  killed.kill('SIGKILL')
  await once(killed, 'close')
  expect(await isThere(left)).toBe(true)

  const code = `console.log((await import('node:fs')).existsSync(scriptPath('src/cli/index.ts')))`
  const { stdout } = await promisify(execFile)(process.execPath, run(code), { env })
  const [own, wasThere] = stdout.trim().split('\n')
  expect([own, wasThere]).toEqual([expect.stringContaining('src/cli/index.mjs'), 'true'])
  expect(await isThere(folderOf(own!))).toBe(false)
  expect(await isThere(folderOf(left))).toBe(false)
  expect(await isThere(scriptPath('src/cli/index.ts'))).toBe(true)
})
