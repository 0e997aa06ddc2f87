import { type LocalCatalog, openCatalog } from '../../../src/tabularium/index.ts'
import { closedAfterwards } from '../../support/catalogs.ts'
import { inspect, tablesOf } from '../../support/inspect.ts'
import { numbered, rowsOf } from '../../support/rows.ts'

/** A catalog with all that an export may hold. */
export async function filled(): Promise<LocalCatalog> {
  const catalog = closedAfterwards(await openCatalog('memory:'))
  await catalog.createNamespace({ id: ['prod'], properties: { owner: 'Ada' } })
  const id = ['prod', 'flights']
  await catalog.createTable({ id, data: numbered(10), properties: { a: 'b' } })
  await catalog.insertIntoTable({ id, data: numbered(5, 10) })
  await catalog.updateTableSchemaMetadata({ id, metadata: { unit: 'minutes' } })
  await catalog.deleteFromTable({ id, predicate: 'n < 3' })
  await catalog.createTableTag({ id, tag: 'audited', version: 2 })
  await catalog.createTableBranch({ id, name: 'dev', from_version: 2 })
  await catalog.insertIntoTable({ id, branch: 'dev', data: numbered(1, 99) })
  await catalog.batchDeleteTableVersions({ id, ranges: [{ start_version: 1, end_version: 2 }] })
  await catalog.createTable({ id: ['none'], data: [{ x: 1 }] })
  await catalog.deleteFromTable({ id: ['none'], predicate: 'true' })
  await catalog.createTable({ id: ['indexed'], data: [{ x: 1, 'a.b': 'text' }] })
  await catalog.createTableScalarIndex({ id: ['indexed'], column: 'x', index_type: 'BTREE' })
  await catalog.createTableTag({ id: ['indexed'], tag: 'one', version: 2 })
  await catalog.createTableScalarIndex({
    id: ['indexed'],
    column: '`a.b`',
    index_type: 'BITMAP',
    name: 'names',
  })
  await catalog.declareTable({ id: ['declared'], properties: { c: 'd' } })
  await catalog.declareTable({ id: ['far'], location: 's3://bucket/far' })
  return catalog
}

/** What a catalog tells, but for where things lie and how they are stored. */
export async function told(catalog: LocalCatalog) {
  const { namespaces, tables } = await inspect(catalog)
  const rows: Record<string, unknown> = {}
  for (const name of await tablesOf(catalog)) {
    const id = name.split('$')
    for (const branch of ['main', ...Object.keys((await catalog.listTableBranches({ id })).branches)]) {
      for (const { version } of (await catalog.listTableVersions({ id, branch })).versions) {
        const { indexes } = await catalog.listTableIndices({ id, branch, version })
        rows[`${name} ${branch} ${version}`] = [await rowsOf(catalog, id, { branch, version }), indexes]
      }
    }
  }
  const stored = new Set([
    'location',
    'manifest_path',
    'manifest_size',
    'manifestSize',
    'e_tag',
    'stats',
    'num_deleted_rows',
  ])
  const text = JSON.stringify({ namespaces, tables, rows }, (key, value) =>
    stored.has(key) ? undefined : value,
  )
  return JSON.parse(text) as unknown
}
