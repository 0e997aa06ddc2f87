import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { FileLock } from '../../../src/stores/lmdb/file-lock.ts'
import { temporaryDirectory } from '../../support/folders.ts'

const driver = '../../../src/stores/lmdb/driver.ts'

test('a new process does not hold up others while it loads the driver', async () => {
  const directory = await temporaryDirectory()
  const lock = new FileLock(join(directory, 'catalog.lock'))
  const heldUp: boolean[] = []
  const { loadDriver } = await vi.importActual<typeof import('../../../src/stores/lmdb/driver.ts')>(driver)
  vi.doMock(driver, async (original) => ({
    ...(await original<object>()),
    loadDriver() {
      heldUp.push(lock.isLocked({ name: '', start: 0 }, 0, 1))
      return loadDriver()
    },
  }))
  // Tests that ran before in this process have loaded the store with its own driver.
  vi.resetModules()
  try {
    const { openLmdbStore } = await import('../../../src/stores/lmdb/index.ts')
    await (await openLmdbStore(directory)).close()
    // Later calls find the driver loaded.
    expect(heldUp[0]).toBe(false)
  } finally {
    vi.doUnmock(driver)
    vi.resetModules()
    lock.close()
    await rm(directory, { recursive: true })
  }
})
