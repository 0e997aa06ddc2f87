import { existsSync, readdirSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { keys } from '../../../src/base/store/records.ts'
import { memoryContent } from '../../../src/contents/memory/index.ts'
import { openLmdbStore } from '../../../src/stores/lmdb/index.ts'
import { memoryStore } from '../../../src/stores/memory/index.ts'
import {
  type LocalCatalog,
  openCatalog,
  restoreCatalog,
  verifyCatalog,
} from '../../../src/tabularium/index.ts'
import { closedAfterwards, freshFolder } from '../../support/catalogs.ts'
import { contentWith, filesIn, pathOf, pathsOf } from '../../support/contents.ts'
import { inspect } from '../../support/inspect.ts'
import { fails } from '../../support/refusals.ts'
import { numbered, rowsOf } from '../../support/rows.ts'

async function opened(): Promise<{ folder: string; directory: string; catalog: LocalCatalog }> {
  const folder = await freshFolder()
  const directory = join(folder, 'catalog')
  return { folder, directory, catalog: closedAfterwards(await openCatalog(directory)) }
}

test('a copy has everything that lies in the directory, at its own place', async () => {
  const { folder, directory, catalog } = await opened()
  await catalog.createTable({ id: ['t'], data: numbered(10) })
  await catalog.declareTable({ id: ['mine'], location: join(directory, 'my own', 'place') })
  await catalog.createTable({ id: ['mine'], data: numbered(5) })
  await catalog.declareTable({ id: ['far'], location: 's3://bucket/far' })
  await catalog.createTable({ id: ['gone'], data: numbered(7) })
  const { location } = await catalog.deregisterTable({ id: ['gone'] })
  await catalog.deregisterTable({ id: ['far'] })
  await catalog.declareTable({ id: ['far'], location: 's3://bucket/other' })
  const copyPath = join(folder, 'copy')
  const report = await catalog.backup(copyPath)
  expect(report).toMatchObject({
    tables: 3,
    elsewhere: 1,
    outside: [{ id: ['far'], location: 's3://bucket/other' }],
  })
  expect(readdirSync(folder).sort()).toEqual(['catalog', 'copy'])

  const copy = closedAfterwards(await openCatalog(copyPath))
  await catalog.dropTable({ id: ['t'] })
  await catalog.dropTable({ id: ['mine'] })
  expect(await rowsOf(copy, ['t'])).toEqual(numbered(10))
  expect(await rowsOf(copy, ['mine'])).toEqual(numbered(5))
  expect((await copy.describeTable({ id: ['mine'] })).location).toContain('/copy/my%20own/place')
  await copy.registerTable({ id: ['back'], location: join(copyPath, pathOf(location)) })
  expect(await rowsOf(copy, ['back'])).toEqual(numbered(7))
  expect(await copy.verify()).toMatchObject({ ok: true, findings: [] })
  // Dropping there takes nothing here.
  await copy.dropTable({ id: ['back'] })
  await catalog.registerTable({ id: ['back'], location })
  expect(await rowsOf(catalog, ['back'])).toEqual(numbered(7))
})

test('what is dropped while it is copied stays until the copy is done', async () => {
  const { folder, directory, catalog } = await opened()
  for (let n = 0; n < 5; n++) await catalog.createTable({ id: [`t${n}`], data: numbered(3) })
  const before = await inspect(catalog)
  const dropped: Promise<unknown>[] = []
  await catalog.backup(join(folder, 'copy'), {
    onProgress: () => {
      if (dropped.length > 0) return
      for (let n = 0; n < 5; n++) dropped.push(catalog.dropTable({ id: [`t${n}`] }))
    },
  })
  await Promise.all(dropped)
  const copy = closedAfterwards(await openCatalog(join(folder, 'copy')))
  expect(Object.keys((await inspect(copy)).tables)).toEqual(Object.keys(before.tables))
  expect(await copy.verify()).toMatchObject({ ok: true })
  await catalog.vacuum({ graceMillis: 0 })
  expect(await filesIn(join(directory, 'tables'))).toEqual([])
})

test('while a backup lease lasts, dropped content stays', async () => {
  const store = memoryStore()
  const content = memoryContent()
  let time = Date.now()
  const catalog = closedAfterwards(await openCatalog({ store, content, now: () => time }))
  await catalog.createTable({ id: ['t'], data: numbered(3) })
  const before = await pathsOf(content)
  await store.write((writer) => writer.put(keys.backupLease('x'), { v: 1, until: time + 1_000 }))
  await catalog.dropTable({ id: ['t'] })
  await fails(
    catalog.vacuum({ graceMillis: 0 }),
    'ServiceUnavailable',
    'is copying the catalog',
    'when the backup is done',
  )
  expect(await catalog.vacuum({ graceMillis: 0, dryRun: true })).toMatchObject({ examined: before.length })
  expect(await pathsOf(content)).toEqual(before)
  expect(await catalog.verify()).toMatchObject({ ok: true })
  // The process that held it is gone.
  time += 2_000
  await catalog.vacuum({ graceMillis: 0 })
  expect(await pathsOf(content)).toEqual([])
})

test('before content is removed that a backup kept, its lease is, so that no late renewal revives it', async () => {
  const store = memoryStore()
  const inside = memoryContent()
  const leases: number[] = []
  const leasesNow = () => store.read((reader) => [...reader.range({ prefix: keys.backupLeases })].length)
  const content = contentWith(inside, {
    remove: async (path) => {
      leases.push(await leasesNow())
      await inside.remove(path)
    },
  })
  let time = Date.now()
  const catalog = closedAfterwards(await openCatalog({ store, content, now: () => time }))
  await catalog.createTable({ id: ['t'], data: numbered(3) })
  await store.write((writer) => writer.put(keys.backupLease('x'), { v: 1, until: time + 1_000 }))
  await catalog.dropTable({ id: ['t'] })
  expect([leases, await leasesNow()]).toEqual([[], 1])
  time += 2_000
  await catalog.vacuum({ graceMillis: 0 })
  expect(leases.length).toBeGreaterThan(0)
  expect(leases.every((count) => count === 0)).toBe(true)
})

test('a copy has nothing more to remove, also outside of the directory', async () => {
  const { folder, directory, catalog } = await opened()
  await catalog.close()
  const outside = join(folder, 'outside')
  await mkdir(outside)
  const options = { locationRoots: [outside] }
  const own = closedAfterwards(await openCatalog(directory, options))
  const location = join(outside, 'place')
  await own.declareTable({ id: ['t'], location })
  await own.createTable({ id: ['t'], data: numbered(3) })
  const store = await openLmdbStore(directory)
  await store.write((writer) => writer.put(keys.backupLease('another'), { v: 1, until: Date.now() + 60_000 }))
  await own.dropTable({ id: ['t'] })
  await own.backup(join(folder, 'copy'))
  await store.write((writer) => writer.remove(keys.backupLease('another')))
  await store.close()
  await own.declareTable({ id: ['new'], location })
  await own.createTable({ id: ['new'], data: numbered(5) })

  const copy = closedAfterwards(await openCatalog(join(folder, 'copy'), options))
  await copy.vacuum({ graceMillis: 0 })
  expect(await rowsOf(own, ['new'])).toEqual(numbered(5))
})

test('a backup fails when its lease expired, and leases of dead processes are removed', async () => {
  const store = memoryStore()
  let time = Date.now()
  const catalog = closedAfterwards(await openCatalog({ store, content: memoryContent(), now: () => time }))
  await catalog.createTable({ id: ['t'], data: numbered(3) })
  const folder = await freshFolder()
  await store.write((writer) => writer.put(keys.backupLease('of the dead'), { v: 1, until: time - 1 }))
  await fails(
    catalog.exportTo(join(folder, 'files'), {
      onProgress: () => {
        time += 120_000
      },
    }),
    'ServiceUnavailable',
    'paused for more than a minute',
  )
  expect(readdirSync(folder)).toEqual([])
  expect(await store.read((reader) => [...reader.range({ prefix: keys.backupLeases })])).toEqual([])
})

test('a place that is taken, or no place for a copy, is refused; what fails leaves nothing', async () => {
  const { folder, directory, catalog } = await opened()
  await catalog.createTable({ id: ['t'], data: numbered(3) })
  const taken = join(folder, 'taken')
  await mkdir(taken)
  await writeFile(join(taken, 'something'), '')
  await fails(catalog.backup(taken), 'InvalidInput', 'is not empty')
  await fails(catalog.backup(join(directory, 'within')), 'InvalidInput', 'lies within')
  await fails(catalog.backup(folder), 'InvalidInput', 'lies within the catalog, or contains it')
  const [file] = (await filesIn(directory)).filter((path) => path.endsWith('.arrow'))
  const copy = join(folder, 'copy')
  await catalog.backup(copy)
  await rm(join(directory, file!))
  await fails(catalog.backup(join(folder, 'failed')), 'InvalidTableState', file!)
  expect(readdirSync(folder).sort()).toEqual(['catalog', 'copy', 'taken'])

  await fails(restoreCatalog(copy, directory), 'InvalidInput', 'is not empty')
  await fails(
    restoreCatalog(copy, taken, { replace: true }),
    'InvalidInput',
    'something other than a catalog',
  )
  await rm(join(copy, file!))
  await fails(restoreCatalog(copy, join(folder, 'new')), 'InvalidTableState', 'has 1 problems', file!)
  await fails(restoreCatalog(taken, join(folder, 'new')), 'InvalidInput', 'There is no catalog')
  expect(existsSync(join(folder, 'new'))).toBe(false)
  const fake = await openCatalog('memory:')
  await fails(fake.backup(copy), 'Unsupported', 'Export this catalog')
})

test('what a copy replaces stays where it is until the copy is whole', async () => {
  const { folder, directory, catalog } = await opened()
  await catalog.createTable({ id: ['t'], data: numbered(3) })
  const copy = join(folder, 'copy')
  await catalog.backup(copy)
  await catalog.dropTable({ id: ['t'] })
  await catalog.close()
  const isThere: boolean[] = []
  const onProgress = () => isThere.push(existsSync(join(directory, 'catalog.mdb')))
  const stopped = new Error('stopped')
  const stop = () => {
    throw stopped
  }
  await expect(restoreCatalog(copy, directory, { replace: true, onProgress: stop })).rejects.toBe(stopped)
  expect(readdirSync(folder).sort()).toEqual(['catalog', 'copy'])
  const { replaced } = await restoreCatalog(copy, directory, { replace: true, onProgress })
  expect(new Set(isThere)).toEqual(new Set([true]))

  const restored = closedAfterwards(await openCatalog(directory))
  expect(await rowsOf(restored, ['t'])).toEqual(numbered(3))
  const before = closedAfterwards(await openCatalog(replaced!))
  expect((await before.listAllTables({})).tables).toEqual([])
})

test('folders may be file URLs, and no others', async () => {
  const { folder, catalog } = await opened()
  await catalog.createTable({ id: ['t'], data: numbered(3) })
  const url = (name: string) => pathToFileURL(join(folder, name)).href
  await catalog.backup(url('copy'))
  await catalog.exportTo(url('files'))
  await restoreCatalog(url('copy'), url('restored'))
  expect(await verifyCatalog(url('restored'))).toMatchObject({ ok: true })
  const restored = closedAfterwards(await openCatalog(url('restored')))
  await restored.dropTable({ id: ['t'] })
  await restored.importFrom(url('files'))
  expect(await rowsOf(restored, ['t'])).toEqual(numbered(3))
  expect(readdirSync(folder).sort()).toEqual(['catalog', 'copy', 'files', 'restored'])

  const elsewhere = 's3://bucket/folder'
  for (const attempt of [
    () => catalog.backup(elsewhere),
    () => catalog.exportTo(elsewhere),
    () => catalog.importFrom(elsewhere),
    () => verifyCatalog(elsewhere),
    () => restoreCatalog(join(folder, 'copy'), elsewhere),
    () => restoreCatalog(elsewhere, join(folder, 'new')),
  ]) {
    await fails(attempt, 'InvalidInput', elsewhere, 'is not a folder of this machine')
  }
})

test('a store file that is damaged is told of, not opened', async () => {
  const { directory, catalog } = await opened()
  await catalog.createNamespace({ id: ['a namespace'] })
  await catalog.close()
  const path = join(directory, 'catalog.mdb')
  const { readFileSync, writeFileSync } = await import('node:fs')
  const bytes = readFileSync(path)
  // Both the page in use and the one before.
  for (let at = bytes.indexOf('a namespace'); at >= 0; at = bytes.indexOf('a namespace', at + 1))
    bytes[at]! ^= 1
  writeFileSync(path, bytes)
  const { ok, complete, findings } = await verifyCatalog(directory)
  expect({ ok, complete }).toEqual({ ok: false, complete: false })
  expect(findings[0]).toMatchObject({ severity: 'problem', kind: 'store', where: directory })
  expect(findings[0]!.message).toMatch(/differs from its checksum|wrong order/)
  await rm(path)
  await fails(verifyCatalog(directory), 'InvalidInput', 'There is no catalog')
  writeFileSync(path, '')
  expect(await verifyCatalog(directory)).toMatchObject({ ok: false, complete: false })
  expect(existsSync(path)).toBe(true)
})
