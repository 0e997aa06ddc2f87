import { readFileSync } from 'node:fs'
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { tableFromIPC } from '@uwdata/flechette'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { nameProblem } from '../../../src/base/model/identifier.ts'
import { folderName } from '../../../src/catalog/maintenance/plain-files/folder-names.ts'
import { importTables, openCatalog } from '../../../src/tabularium/index.ts'
import { overHttp } from '../../client/over-http.ts'
import { closedAfterwards, freshFolder } from '../../support/catalogs.ts'
import { inspect, tablesOf } from '../../support/inspect.ts'
import { fails } from '../../support/refusals.ts'
import { numbered, rowsOf } from '../../support/rows.ts'
import { filled, told } from './filled.ts'

test.for(['arrow', 'parquet'] as const)(
  'with its history, a catalog comes back as it was from files of %s',
  async (format) => {
    const catalog = await filled()
    const folder = join(await freshFolder(), 'files')
    expect(await catalog.exportTo(folder, { history: true, format })).toMatchObject({
      namespaces: 1,
      tables: 5,
      withoutRows: [['far']],
    })
    const other = closedAfterwards(await openCatalog('memory:'))
    expect(await other.importFrom(folder)).toMatchObject({ namespaces: 1, tables: 5, versions: 10 })
    expect(await told(other)).toEqual(await told(catalog))
    expect(await other.verify()).toMatchObject({ ok: true, findings: [] })
    // Numbers go on where they were.
    await other.insertIntoTable({ id: ['prod', 'flights'], data: numbered(1) })
    expect(
      (await other.describeTable({ id: ['prod', 'flights'], load_detailed_metadata: true })).version,
    ).toBe(5)
  },
)

test('without it, the latest rows come back, under their number, in files that any Arrow reader opens', async () => {
  const catalog = await filled()
  const folder = join(await freshFolder(), 'files')
  await catalog.exportTo(folder)
  expect(tableFromIPC(readFileSync(join(folder, 'prod', 'flights', 'rows.arrow'))).numRows).toBe(12)
  expect(await readdir(join(folder, 'prod', 'flights'))).toEqual(['rows.arrow', 'table.json'])
  const other = closedAfterwards(await openCatalog('memory:'))
  expect(await other.importFrom(folder)).toMatchObject({ tables: 5, versions: 3 })
  const id = ['prod', 'flights']
  expect(await rowsOf(other, id)).toEqual(await rowsOf(catalog, id))
  expect((await other.describeTable({ id, load_detailed_metadata: true })).version).toBe(4)
  expect((await other.listTableTags({ id })).tags).toEqual({})
  expect(await other.verify()).toMatchObject({ ok: true, findings: [] })
})

test('the latest rows come to any catalog, also behind a server', async () => {
  const catalog = await filled()
  const folder = join(await freshFolder(), 'files')
  await catalog.exportTo(folder)
  const remote = await overHttp(await openCatalog('memory:'))
  closedAfterwards(remote)
  expect(await importTables(remote, folder)).toMatchObject({ namespaces: 1, tables: 5, rows: 13 })
  expect(await rowsOf(remote, ['prod', 'flights'])).toEqual(await rowsOf(catalog, ['prod', 'flights']))
  const { indexes } = await remote.listTableIndices({ id: ['indexed'] })
  expect(indexes.map(({ index_name, index_type }) => [index_name, index_type])).toEqual([
    ['names', 'BITMAP'],
    ['x_idx', 'BTREE'],
  ])
  await fails(
    importTables(remote, folder),
    'TableAlreadyExists',
    'Before this error, 0 tables of the export were imported',
  )
})

test('an import is all or nothing', async () => {
  const catalog = await filled()
  const folder = join(await freshFolder(), 'files')
  await catalog.exportTo(folder)
  const directory = await freshFolder()
  const other = closedAfterwards(await openCatalog(directory))
  await other.createNamespace({ id: ['prod'] })
  await other.declareTable({ id: ['prod', 'flights'] })
  const before = await inspect(other)
  await fails(other.importFrom(folder), 'TableAlreadyExists', 'prod$flights')
  await other.dropTable({ id: ['prod', 'flights'] })
  await writeFile(join(folder, 'prod', 'flights', 'rows.arrow'), 'no Arrow')
  await expect(other.importFrom(folder)).rejects.toMatchObject({ name: 'CatalogError' })
  expect(Object.keys((await inspect(other)).namespaces)).toEqual(Object.keys(before.namespaces))
  expect(await tablesOf(other)).toEqual([])
  expect(await other.vacuum({ graceMillis: 0 })).toMatchObject({ removed: 0 })
  await fails(other.importFrom(directory), 'InvalidInput', 'There is no export')
})

test('a vacuum leaves alone what is being imported', async () => {
  const files = join(await freshFolder(), 'files')
  const source = await filled()
  await source.exportTo(files, { history: true })
  const target = closedAfterwards(await openCatalog('memory:'))
  const vacuums: Promise<unknown>[] = []
  await target.importFrom(files, { onProgress: () => vacuums.push(target.vacuum({ graceMillis: 0 })) })
  await Promise.all(vacuums)
  expect(await told(target)).toEqual(await told(source))
  expect(await target.verify()).toMatchObject({ ok: true })
})

test('what an export names is never looked for elsewhere', async () => {
  const catalog = closedAfterwards(await openCatalog('memory:'))
  const folder = await freshFolder()
  await writeFile(join(folder, 'catalog.json'), '{"tabularium":"export","format":1}')
  await mkdir(join(folder, 't'))
  const table = {
    name: 't',
    properties: {},
    created_at: 1,
    main: { latest: 1, last: 1 },
    branches: [],
    tags: [],
  }
  for (const file of [
    '../secret.arrow',
    '/etc/secret.arrow',
    'versions/../../x.arrow',
    '..arrow',
    'a/b.arrow',
    '../secret.parquet',
    'x',
  ]) {
    const versions = [{ branch: '', version: 1, timestamp_millis: 1, files: [file] }]
    await writeFile(join(folder, 't', 'table.json'), JSON.stringify({ ...table, versions }))
    await fails(catalog.importFrom(folder), 'InvalidInput', 'is not the name of an Arrow or Parquet file')
  }
  await writeFile(join(folder, 't', 'table.json'), JSON.stringify({ ...table, name: 'a$b', versions: [] }))
  await fails(catalog.importFrom(folder), 'InvalidInput', 'name: is not a valid name')
})

test('every name comes to the name of a folder that is safe anywhere', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', minLength: 1, maxLength: 60 }), (name) => {
      if (nameProblem(name) !== undefined) return
      expect(folderName(name)).toMatch(/^[^/\\:*?"<>|\p{Cc}. ][^/\\:*?"<>|\p{Cc}]*$/u)
      expect(folderName(name)).toMatch(/[^. ]$/)
      expect(Buffer.byteLength(folderName(name))).toBeLessThan(100)
    }),
  )
})

test('names that are no folders, and names that come to the same, come back', async () => {
  const names = [
    '..',
    '.',
    '../x',
    'a/b',
    'A',
    'a',
    'CON',
    'table.json',
    'versions',
    ' ',
    'x.',
    '~',
    'e\u0301',
    'é',
  ]
  const long = ['x'.repeat(200), `${'x'.repeat(200)}y`]
  const catalog = closedAfterwards(await openCatalog('memory:'))
  for (const name of [...names, ...long]) await catalog.createNamespace({ id: [name] })
  await catalog.declareTable({ id: ['..', '..'] })
  const folder = await freshFolder()
  await catalog.exportTo(join(folder, 'files'))
  expect(await readdir(folder)).toEqual(['files'])
  const other = closedAfterwards(await openCatalog('memory:'))
  await other.importFrom(join(folder, 'files'))
  expect((await inspect(other)).namespaces).toEqual((await inspect(catalog)).namespaces)
  expect(await tablesOf(other)).toEqual(['..$..'])
})
