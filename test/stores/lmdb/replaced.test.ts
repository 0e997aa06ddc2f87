import { mkdir, rename, rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, vi } from 'vitest'
import { keys } from '../../../src/base/store/records.ts'
import { FileLock } from '../../../src/stores/lmdb/file-lock.ts'
import { openLmdbStore } from '../../../src/stores/lmdb/index.ts'
import { StoreLock } from '../../../src/stores/lmdb/store-lock.ts'
import { openCatalog, restoreCatalog } from '../../../src/tabularium/index.ts'
import { coreOf } from '../../../src/tabularium/local-handle.ts'
import { closedAfterwards, freshFolder } from '../../support/catalogs.ts'
import { fails } from '../../support/refusals.ts'

const data = [{ x: 1 }]
const open = async (path: string) => closedAfterwards(await openCatalog(path))
const tablesOf = async (catalog: Awaited<ReturnType<typeof open>>) =>
  (await catalog.listTables({ id: [] })).tables

it('after a restore, a catalog that is opened shows what is on disk, beside one that was open', async () => {
  const folder = await freshFolder()
  const path = join(folder, 'catalog')
  const old = await open(path)
  await old.createTable({ id: ['kept'], data })
  await old.backup(join(folder, 'backup'))
  await old.createTable({ id: ['later'], data })
  await restoreCatalog(join(folder, 'backup'), path, { replace: true })
  const fresh = await open(path)
  expect(await tablesOf(fresh)).toEqual(['kept'])
  await fresh.createTable({ id: ['new'], data })
  expect(await tablesOf(old)).toEqual(['kept', 'later'])
  await fails(old.declareTable({ id: ['lost'] }), 'ServiceUnavailable', 'removed or replaced')
  await old.close()
  // The end of the old one takes nothing of the new one with it.
  const third = await open(path)
  await third.createTable({ id: ['third'], data })
  expect(await tablesOf(fresh)).toEqual(['kept', 'new', 'third'])
})

it('a directory that was removed is a new one, by a symbolic link too', async () => {
  const folder = await freshFolder()
  const path = join(folder, 'catalog')
  await symlink(path, join(folder, 'link'))
  const old = await open(path)
  await old.createTable({ id: ['old'], data })
  await rm(path, { recursive: true })
  const fresh = await open(path)
  expect(await tablesOf(fresh)).toEqual([])
  await fresh.createTable({ id: ['new'], data })
  expect(await tablesOf(await open(join(folder, 'link')))).toEqual(['new'])
  expect(await tablesOf(old)).toEqual(['old'])
})

it('a directory that has another name is opened once, and another one in its place is another one', async () => {
  const folder = await freshFolder()
  const [path, moved] = [join(folder, 'catalog'), join(folder, 'moved')]
  const old = await open(path)
  await old.createTable({ id: ['old'], data })
  await rename(path, moved)
  expect(await tablesOf(await open(moved))).toEqual(['old'])
  const fresh = await open(path)
  expect(await tablesOf(fresh)).toEqual([])
  await fresh.createTable({ id: ['new'], data })
  expect(await tablesOf(await open(moved))).toEqual(['old'])
})

it('a catalog whose directory was replaced removes nothing of the one in its place', async () => {
  const folder = await freshFolder()
  const path = join(folder, 'catalog')
  const old = await open(path)
  await old.createTable({ id: ['kept'], data })
  await old.backup(join(folder, 'backup'))
  const { content } = coreOf(old).contentRoots[0]!
  // A drop whose removal did not come to its end leaves it to the next vacuum.
  const remove = vi.spyOn(content, 'remove').mockRejectedValue(new Error('away'))
  await old.dropTable({ id: ['kept'] })
  remove.mockRestore()
  await coreOf(old).store.write((writer) => {
    for (const { key, value } of [...writer.range<object | string>({ prefix: keys.locations })])
      if (typeof value === 'object') writer.put(key, { ...value, until: 0 })
  })
  await restoreCatalog(join(folder, 'backup'), path, { replace: true })
  const fresh = await open(path)
  await fails(old.vacuum({ graceMillis: 0 }), 'ServiceUnavailable', 'removed or replaced')
  expect(await fresh.countTableRows({ id: ['kept'], predicate: 'x = 1' })).toEqual({ count: 1 })
})

it('a directory that is replaced while its lock is waited for is not opened with a lock of another one', async () => {
  const folder = await freshFolder()
  const path = join(folder, 'catalog')
  await mkdir(path)
  const held = new StoreLock(new FileLock(join(path, 'catalog.lock')))
  await held.acquire(1_000)
  const opening = openLmdbStore(path)
  // The file of the lock is open by then.
  const refused = expect(opening).rejects.toMatchObject({
    code: 'ServiceUnavailable',
    message: expect.stringMatching(/replaced while it was being opened/),
  })
  await rename(path, join(folder, 'moved'))
  await mkdir(path)
  held.release()
  held.close()
  await refused
  await (await openLmdbStore(path)).close()
})
