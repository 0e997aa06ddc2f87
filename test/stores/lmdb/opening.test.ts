import files, {
  type FileHandle,
  mkdir,
  readdir,
  readFile,
  readlink,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Store } from '../../../src/base/store/store.ts'
import { FileLock } from '../../../src/stores/lmdb/file-lock.ts'
import { openLmdbStore, storeFiles } from '../../../src/stores/lmdb/index.ts'
import { StoreLock } from '../../../src/stores/lmdb/store-lock.ts'
import { startChild } from '../children/child.ts'
import { temporaryDirectory } from '../places.ts'

let directory: string
beforeEach(async () => {
  directory = await temporaryDirectory()
})
afterEach(() => rm(directory, { recursive: true }))

const all = (store: Store) => store.read((tx) => [...tx.range({})])
const dataFile = () => join(directory, 'catalog.mdb')

test('says what it promises and where it lies', async () => {
  const store = await openLmdbStore(directory)
  expect(store.features).toEqual({
    durable: true,
    multiProcess: true,
    snapshots: false,
    inlineBytes: 16_384,
  })
  expect(store.path).toBe(dataFile())
  await store.write((tx) => tx.put(['a'], 1))
  await store.close()
  expect((await readdir(directory)).sort()).toEqual([...storeFiles].sort())
})

test('missing folders are made', async () => {
  const store = await openLmdbStore(join(directory, 'one', 'two'))
  await store.write((tx) => tx.put(['a'], 1))
  await store.close()
  expect((await readdir(join(directory, 'one', 'two'))).sort()).toEqual([...storeFiles].sort())
})

test('opening and reading change no byte of the data file', async () => {
  const first = await openLmdbStore(directory)
  await first.write((tx) => {
    for (let i = 0; i < 500; i++) tx.put(['n', i], i)
  })
  await first.close()
  const before = await readFile(dataFile())
  const { mtimeMs } = await stat(dataFile())
  for (const options of [{}, { readOnly: true }]) {
    const store = await openLmdbStore(directory, options)
    expect(await all(store)).toHaveLength(500)
    await store.read((tx) => tx.get(['missing']))
    await store.close()
  }
  expect((await readFile(dataFile())).equals(before)).toBe(true)
  expect((await stat(dataFile())).mtimeMs).toBe(mtimeMs)
})

test('two stores of one process share one environment until the last is closed', async () => {
  await symlink(directory, `${directory}-link`)
  try {
    const [one, two] = await Promise.all([openLmdbStore(directory), openLmdbStore(`${directory}-link`)])
    expect(two.path).toBe(one.path)
    await one.write((tx) => tx.put(['a'], 1))
    expect(await all(two)).toEqual([{ key: ['a'], value: 1 }])
    await one.close()
    await two.write((tx) => tx.put(['b'], 2))
    // One that opens while the last one closes gets a new environment.
    const [three] = await Promise.all([openLmdbStore(directory), two.close()])
    expect(await all(three)).toHaveLength(2)
    await three.close()
  } finally {
    await rm(`${directory}-link`)
  }
})

test('copies of the module in one process share what is open', async () => {
  const one = await openLmdbStore(directory)
  vi.resetModules()
  const copy = await import('../../../src/stores/lmdb/index.ts')
  expect(copy.openLmdbStore).not.toBe(openLmdbStore)
  const two = await copy.openLmdbStore(directory)
  await Promise.all([one.write((tx) => tx.put(['one'], 1)), two.write((tx) => tx.put(['two'], 2))])
  await one.close()
  expect(await all(two)).toHaveLength(2)
  await two.close()
  await (await copy.openLmdbStore(directory)).close()
})

test('a store can be opened and closed many times over', async () => {
  for (let i = 0; i < 50; i++) {
    const store = await openLmdbStore(directory)
    await store.write((tx) => tx.put(['n', i], i))
    await store.close()
  }
  const store = await openLmdbStore(directory)
  expect(await all(store)).toHaveLength(50)
  await store.close()
})

describe('readOnly', () => {
  test('reads and refuses to write', async () => {
    const writer = await openLmdbStore(directory)
    await writer.write((tx) => tx.put(['a'], 1))
    const beside = await openLmdbStore(directory, { readOnly: true })
    await expect(beside.write((tx) => tx.put(['a'], 2))).rejects.toMatchObject({ code: 'PermissionDenied' })
    expect(await all(beside)).toEqual([{ key: ['a'], value: 1 }])
    await Promise.all([writer.close(), beside.close()])

    const alone = await openLmdbStore(directory, { readOnly: true })
    await expect(alone.write((tx) => tx.put(['a'], 2))).rejects.toMatchObject({ code: 'PermissionDenied' })
    expect(await all(alone)).toEqual([{ key: ['a'], value: 1 }])
    // It keeps nobody else from writing.
    const joined = await openLmdbStore(directory)
    await joined.write((tx) => tx.put(['a'], 3))
    expect(await all(alone)).toEqual([{ key: ['a'], value: 3 }])
    await joined.close()
    await alone.close()
    await expect(alone.write((tx) => tx.put(['a'], 2))).rejects.toMatchObject({ code: 'ServiceUnavailable' })
  })

  test('makes nothing', async () => {
    for (const options of [{ readOnly: true }, { create: false }]) {
      await expect(openLmdbStore(join(directory, 'none'), options)).rejects.toMatchObject({
        code: 'InvalidInput',
      })
    }
    expect(await readdir(directory)).toEqual([])
  })
})

describe('what is no catalog', () => {
  test.each([
    ['text', Buffer.from('not a data file\n'.repeat(1000))],
    ['zeros', Buffer.alloc(16_384)],
    ['less than a page', Buffer.from('short')],
  ])('is refused and left alone: %s', async (_, bytes) => {
    await writeFile(dataFile(), bytes)
    await expect(openLmdbStore(directory)).rejects.toMatchObject({
      code: 'InvalidInput',
      message: expect.stringContaining(dataFile()),
    })
    expect((await readFile(dataFile())).equals(bytes)).toBe(true)
    // And again, in the same process.
    await expect(openLmdbStore(directory)).rejects.toMatchObject({ code: 'InvalidInput' })
  })

  test('is refused when it is a file in the place of the directory', async () => {
    await writeFile(join(directory, 'file'), 'x')
    for (const path of ['file', 'file/below']) {
      await expect(openLmdbStore(join(directory, path))).rejects.toMatchObject({ code: 'InvalidInput' })
    }
  })

  test('is refused when a folder has the data file name', async () => {
    await mkdir(dataFile())
    await expect(openLmdbStore(directory)).rejects.toMatchObject({ code: 'InvalidInput' })
  })
})

test('readers of processes that died do not fill the reader table', async () => {
  const store = await openLmdbStore(directory, { maxReaders: 4 })
  await store.write((tx) => tx.put(['a'], 1))
  for (let i = 0; i < 6; i++) {
    const child = startChild('test/stores/children/put-on-demand.ts', directory)
    await child.printed(1)
    child.process.stdin!.write('1\n')
    await child.printed(2)
    child.process.kill('SIGKILL')
    await child.ended
  }
  expect(await store.read((tx) => tx.get(['told']))).toBe(1)
  await store.close()
})

/** The files below a directory that this process has open. */
async function filesOpenIn(folder: string): Promise<string[]> {
  const links = (await readdir('/proc/self/fd')).map((file) =>
    readlink(`/proc/self/fd/${file}`).catch(() => ''),
  )
  return (await Promise.all(links)).filter((path) => path.startsWith(folder))
}

describe.skipIf(process.platform !== 'linux')('an opening that fails leaves no file open', () => {
  test('when a reader on a read-only medium keeps writers away', async () => {
    await (await openLmdbStore(directory)).close()
    const reader = new StoreLock(new FileLock(join(directory, 'catalog.lock'), { canWrite: false }))
    expect(reader.tryExcludeWriters()).toBe(true)
    await expect(openLmdbStore(directory, { busyTimeout: 30 })).rejects.toMatchObject({
      code: 'ServiceUnavailable',
    })
    reader.close()
    expect(await filesOpenIn(directory)).toEqual([])
    const store = await openLmdbStore(directory)
    await store.close()
    expect(await filesOpenIn(directory)).toEqual([])
  })

  test('when the folder of a new catalog cannot be synced', async () => {
    const { open } = files
    vi.spyOn(files, 'open').mockImplementation(async (...given): Promise<FileHandle> => {
      const handle = await open(...given)
      handle.sync = async () => {
        throw Object.assign(new Error('EIO: i/o error, fsync'), { code: 'EIO' })
      }
      return handle
    })
    syncBuiltinESMExports()
    try {
      await expect(openLmdbStore(directory)).rejects.toMatchObject({ cause: { code: 'EIO' } })
    } finally {
      vi.restoreAllMocks()
      syncBuiltinESMExports()
    }
    expect(await filesOpenIn(directory)).toEqual([])
  })
})
