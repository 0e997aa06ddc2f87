import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { expect, test, vi } from 'vitest'
import { CatalogError } from '../../src/base/errors.ts'
import { fileContent } from '../../src/contents/files/index.ts'
import { FileGroup, syncFolderTogether } from '../../src/contents/files/put-group.ts'
import { RawFile } from '../../src/contents/files/raw-file.ts'
import { writeUnsynced } from '../../src/contents/files/write-file.ts'
import { bytesOf } from '../../src/testing/suites/content/trial.ts'
import { freshFolder } from '../support/catalogs.ts'

/** A sync that ends when it is told to. */
function pending() {
  let settle!: { resolve: () => void; reject: (error: Error) => void }
  const synced = new Promise<void>((resolve, reject) => {
    settle = { resolve, reject }
  })
  return { synced, ...settle }
}

const explain = (error: unknown) => new CatalogError('ServiceUnavailable', String(error))

/** A group over files whose syncs end when they are told to. */
async function groupOf(files: readonly ReturnType<typeof pending>[]) {
  const folder = await freshFolder()
  const left = [...files]
  return new FileGroup(async () => ({ folder, synced: left.shift()!.synced }), explain)
}

/** Whether a promise has settled. */
async function isDone(promise: Promise<unknown>): Promise<boolean> {
  let done = false
  const settled = () => {
    done = true
  }
  promise.then(settled, settled)
  for (let i = 0; i < 5; i++) await turn()
  return done
}

test('a sync waits for every file that was put before it, also for one that an earlier sync waits for', async () => {
  const files = [pending(), pending()]
  const group = await groupOf(files)
  await group.put('a', bytesOf('a'))
  await group.put('b', bytesOf('b'))
  const [first, second] = [group.sync(), group.sync()]
  files[1]!.resolve()
  expect(await isDone(Promise.race([first, second]))).toBe(false)
  files[0]!.resolve()
  await Promise.all([first, second])
})

test('a group of which a file could not be synced never syncs again', async () => {
  const files = [pending(), pending()]
  const group = await groupOf(files)
  await group.put('a', bytesOf('a'))
  files[0]!.reject(new Error('no space'))
  await expect(group.sync()).rejects.toMatchObject({ code: 'ServiceUnavailable' })
  await group.put('b', bytesOf('b'))
  files[1]!.resolve()
  await expect(group.sync()).rejects.toMatchObject({ message: expect.stringContaining('no space') })
})

test('a sync that fails at once is told by the group, and by nothing else', async () => {
  const folder = await freshFolder()
  const sync = vi.spyOn(RawFile.prototype, 'sync').mockRejectedValue(new Error('EIO'))
  const unheard: unknown[] = []
  const note = (reason: unknown) => unheard.push(reason)
  process.on('unhandledRejection', note)
  try {
    const group = fileContent(folder).group!()
    await group.put('a', bytesOf('a'))
    await expect(group.sync()).rejects.toMatchObject({ message: expect.stringContaining('EIO') })
    await turn()
    expect(unheard).toEqual([])
  } finally {
    process.off('unhandledRejection', note)
    sync.mockRestore()
  }
})

test('a folder that was removed with its objects meanwhile is no failure', async () => {
  const content = fileContent(await freshFolder())
  const group = content.group!()
  await group.put('a/b', bytesOf('b'))
  await group.put('c', bytesOf('c'))
  await content.remove('a/')
  await group.sync()
  expect(await content.get('c')).toBeDefined()
})

test('only so many files of all groups are open at once', async () => {
  const folder = await freshFolder()
  const ends: (() => void)[] = []
  const sync = vi.spyOn(RawFile.prototype, 'sync').mockImplementation(
    () =>
      new Promise((resolve) => {
        ends.push(resolve)
      }),
  )
  try {
    const writing = Array.from({ length: 66 }, (_, i) => writeUnsynced(folder, `${i}`, [bytesOf('one')]))
    await Promise.all(writing.slice(0, 64))
    expect(await readdir(folder)).toHaveLength(64)
    ends[3]!()
    await writing[64]
    expect(await readdir(folder)).toHaveLength(65)
    for (const end of ends) end()
    await writing[65]
    for (const end of ends) end()
    for (const { synced } of await Promise.all(writing)) await synced
  } finally {
    sync.mockRestore()
  }
})

test('a file is whole under its name before it is synced', async () => {
  const folder = await freshFolder()
  const { synced } = await writeUnsynced(folder, 'a', [bytesOf('one '), bytesOf('two')])
  expect(await readFile(join(folder, 'a'), 'utf8')).toBe('one two')
  await expect(writeUnsynced(folder, 'a', [bytesOf('again')])).rejects.toMatchObject({ code: 'EEXIST' })
  await synced
})

test('a file that cannot be written whole leaves nothing under its name', async () => {
  const folder = await freshFolder()
  const write = vi.spyOn(RawFile.prototype, 'writev').mockResolvedValueOnce(2)
  write.mockRejectedValueOnce(new Error('ENOSPC'))
  try {
    await expect(writeUnsynced(folder, 'a', [bytesOf('one')])).rejects.toThrow('ENOSPC')
    expect(await readdir(folder)).toEqual([])
  } finally {
    write.mockRestore()
  }
})

test('those who sync a folder at once share two syncs, and none shares one that began before', async () => {
  const folder = await freshFolder()
  const began: (() => void)[] = []
  const sync = vi
    .spyOn(RawFile.prototype, 'sync')
    .mockImplementation(() => new Promise<void>((resolve) => began.push(resolve)))
  try {
    const all = Array.from({ length: 16 }, () => syncFolderTogether(folder))
    await expect.poll(() => began.length).toBe(1)
    expect(await isDone(all[0]!)).toBe(false)
    began[0]!()
    await all[0]
    await expect.poll(() => began.length).toBe(2)
    const later = syncFolderTogether(folder)
    began[1]!()
    await Promise.all(all)
    await expect.poll(() => began.length).toBe(3)
    expect(await isDone(later)).toBe(false)
    sync.mockRejectedValue(new Error('EIO'))
    const failing = syncFolderTogether(folder)
    began[2]!()
    await later
    await expect(failing).rejects.toThrow('EIO')
    sync.mockRestore()
    await syncFolderTogether(folder)
  } finally {
    sync.mockRestore()
  }
})
