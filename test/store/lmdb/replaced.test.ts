import { rename, rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openCatalog, restoreCatalog } from '../../../src/index.ts'
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
