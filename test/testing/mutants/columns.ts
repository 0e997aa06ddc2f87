import { openCatalog } from '../../../src/tabularium/index.ts'
import type { CatalogUnderTest } from '../../../src/testing/suites/catalog/trial.ts'

type Request = { readonly [field: string]: unknown }
type Call = (request: Request) => Promise<Request>
type Calls = { readonly [Name in keyof CatalogUnderTest]: Call }

/** A correct catalog with one operation replaced. */
function broken(name: keyof CatalogUnderTest, call: (real: Calls) => Call) {
  return async () => {
    const sound = await openCatalog('memory:')
    const other = call(sound as unknown as Calls)
    return new Proxy(sound, {
      get: (target, member) => (member === name ? other : Reflect.get(target, member)) as unknown,
    }) as unknown as CatalogUnderTest
  }
}

/** Does nothing instead of a refusal. */
function silently(name: keyof CatalogUnderTest) {
  return broken(name, (real) => (request) => real[name]!(request).catch(() => ({ version: 9 })))
}

/** Catalogs that change columns incorrectly, and the rule that each of them breaks. */
export const brokenColumns: readonly (readonly [string, string, () => Promise<CatalogUnderTest>])[] = [
  [
    'leaves new columns null',
    'columns.add',
    broken('alterTableAddColumns', (real) => (request) => {
      const columns = request.new_columns as readonly { name: string; data_type?: unknown }[]
      const new_columns = columns.map(({ name, data_type = 'int32' }) => ({ name, data_type }))
      return real.alterTableAddColumns({ ...request, new_columns })
    }),
  ],
  ['adds no column where it should refuse', 'columns.add-refused', silently('alterTableAddColumns')],
  [
    'makes a version for each alteration',
    'columns.alter',
    broken('alterTableAlterColumns', (real) => async (request) => {
      let last: Request = {}
      const alterations = request.alterations as readonly { path: string; rename: string }[]
      // The last one first, under a name that is free.
      for (const { path, rename, ...rest } of alterations) {
        last = await real.alterTableAlterColumns({
          ...request,
          alterations: [{ path, rename: `${rename}_`, ...rest }],
        })
      }
      for (const { rename } of alterations) {
        last = await real.alterTableAlterColumns({
          ...request,
          alterations: [{ path: `${rename}_`, rename }],
        })
      }
      return last
    }),
  ],
  ['alters nothing where it should refuse', 'columns.alter-refused', silently('alterTableAlterColumns')],
  ['drops columns that are not there', 'columns.drop', silently('alterTableDropColumns')],
  [
    'replaces the metadata of a field',
    'columns.metadata',
    broken('updateFieldMetadata', (real) => (request) => {
      const updates = (request.updates as readonly object[]).map((update) => ({ ...update, replace: true }))
      return real.updateFieldMetadata({ ...request, updates })
    }),
  ],
  [
    'loses rows that come at the same time',
    'columns.beside-rows',
    broken('alterTableAddColumns', (real) => async (request) => {
      const { id } = request
      const { versions } = (await real.listTableVersions({ id })) as { versions: { version: number }[] }
      // Long enough for others to insert rows.
      await new Promise((resolve) => setTimeout(resolve, 60))
      await real.restoreTable({ id, version: versions.at(-1)!.version })
      return real.alterTableAddColumns(request)
    }),
  ],
]
