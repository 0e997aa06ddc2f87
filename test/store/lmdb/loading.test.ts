import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import type * as driver from '../../../src/store/lmdb/driver.ts'
import { FileLock } from '../../../src/store/lmdb/file-lock.ts'
import { openLmdbStore } from '../../../src/store/lmdb/index.ts'
import { temporaryDirectory } from '../../support/folders.ts'

/** What the test wants to know whenever the driver is loaded. */
let onLoad = () => {}

vi.mock('../../../src/store/lmdb/driver.ts', async (original) => {
  const real = await original<typeof driver>()
  return {
    ...real,
    loadDriver: () => {
      onLoad()
      return real.loadDriver()
    },
  }
})

test('a new process does not hold up others while it loads the driver', async () => {
  const directory = await temporaryDirectory()
  const lock = new FileLock(join(directory, 'catalog.lock'))
  const heldUp: boolean[] = []
  onLoad = () => heldUp.push(lock.isLocked({ name: '', start: 0 }, 0, 1))
  try {
    await (await openLmdbStore(directory)).close()
    // Later calls find the driver loaded.
    expect(heldUp[0]).toBe(false)
  } finally {
    lock.close()
    await rm(directory, { recursive: true })
  }
})
