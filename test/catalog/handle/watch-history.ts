import type { Transaction } from '../../../src/catalog/handle/handle.ts'
import { type Catalog, CatalogError, type LocalCatalog } from '../../../src/tabularium/index.ts'
import { seededRandom } from '../../../src/testing/suites/random.ts'

/** Changes a catalog at random. What it refuses is no change. */
export async function randomChanges(
  catalog: LocalCatalog,
  random: () => number,
  count: number,
): Promise<void> {
  for (let i = 0; i < count; i++) {
    try {
      if (random() < 0.15) await randomTransaction(catalog, random)
      else await randomChange(catalog, random)
    } catch (error) {
      if (!(error instanceof CatalogError) || error.code === 'Internal') throw error
    }
  }
}

async function randomTransaction(catalog: LocalCatalog, random: () => number): Promise<void> {
  const fails = random() < 0.2
  const seeds = Array.from({ length: 1 + Math.floor(random() * 4) }, () => Math.floor(random() * 2 ** 31))
  await catalog
    .transaction(async (tx) => {
      for (const seed of seeds) {
        const again = seededRandom(seed)
        await randomChange(tx, again).catch((error: unknown) => {
          if (!(error instanceof CatalogError) || error.code === 'Internal') throw error
        })
      }
      if (fails) throw new CatalogError('InvalidInput', 'given up')
    })
    .catch((error: unknown) => {
      if (!(error instanceof CatalogError) || error.code === 'Internal') throw error
    })
}

const locations = new Map<string, string>()

async function randomChange(catalog: Catalog | Transaction, random: () => number): Promise<unknown> {
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)]!
  const namespace = () => pick([[], ['a'], ['b'], ['a', 'c']])
  const table = () => [...namespace(), pick(['t', 'u', 'v'])]
  const data = () => [{ x: Math.floor(random() * 9) }]
  const branch = () => pick(['', '', '', 'side'])
  const id = table()
  const steps: (() => Promise<unknown>)[] = [
    () =>
      catalog.createNamespace({
        id: pick([['a'], ['b'], ['a', 'c']]),
        mode: pick(['Create', 'ExistOk', 'Overwrite']),
      }),
    () => catalog.createNamespace({ id: pick([['a'], ['b'], ['a', 'c']]) }),
    () =>
      catalog.dropNamespace({
        id: pick([['a'], ['b'], ['a', 'c']]),
        behavior: pick(['Restrict', 'Cascade']),
      }),
    () => catalog.declareTable({ id }),
    () => catalog.createTable({ id, data: data(), mode: pick(['Create', 'ExistOk', 'Overwrite']) }),
    () => catalog.createTable({ id, data: data() }),
    () => catalog.insertIntoTable({ id, data: data(), branch: branch() }),
    () => catalog.insertIntoTable({ id, data: data() }),
    () => catalog.deleteFromTable({ id, predicate: 'x > 5', branch: branch() }),
    () => catalog.updateTableSchemaMetadata({ id, metadata: { k: String(random()) } }),
    () => catalog.optimizeTable({ id }),
    () => catalog.restoreTable({ id, version: 1 }),
    () => catalog.renameTable({ id, new_table_name: pick(['t', 'u', 'v']), new_namespace_id: namespace() }),
    () => catalog.dropTable({ id }),
    () => catalog.createTableTag({ id, tag: pick(['one', 'two']), version: 1 }),
    () => catalog.updateTableTag({ id, tag: pick(['one', 'two']), version: 2 }),
    () => catalog.deleteTableTag({ id, tag: pick(['one', 'two']) }),
    () => catalog.createTableBranch({ id, name: 'side' }),
    () => catalog.deleteTableBranch({ id, name: 'side' }),
    () => catalog.batchDeleteTableVersions({ id, ranges: [{ start_version: 1, end_version: 3 }] }),
    async () => {
      const { location } = await catalog.deregisterTable({ id })
      locations.set('last', location)
    },
    async () => {
      const location = locations.get('last')
      if (location) await catalog.registerTable({ id, location, mode: pick(['Create', 'Overwrite']) })
    },
    () =>
      catalog.batchCommitTables({
        operations: [{ declare_table: { id: table() } }, { declare_table: { id: table() } }],
      }),
    () =>
      catalog.batchCommitTables({
        operations: [{ deregister_table: { id } }, { declare_table: { id } }],
      }),
  ]
  return pick(steps)()
}
