import { type Catalog, openCatalog } from '../../dist/tabularium/index.js'
import { sharedFolder } from './scratch.ts'

const batch = 10_000

/** The name of the i-th table. */
export const tableName = (i: number): string => `t${String(i).padStart(7, '0')}`

/** The names of so many tables. */
export const tableNames = (count: number): string[] => Array.from({ length: count }, (_, i) => tableName(i))

/** Declares tables below the namespaces `home(i)` gives, ten thousand in a commit. */
export async function declareTables(
  catalog: Pick<Catalog, 'batchCommitTables'>,
  count: number,
  home: (i: number) => readonly string[],
): Promise<void> {
  for (let from = 0; from < count; from += batch) {
    await catalog.batchCommitTables({
      operations: Array.from({ length: Math.min(batch, count - from) }, (_, i) => ({
        declare_table: { id: [...home(from + i), tableName(from + i)] },
      })),
    })
  }
}

/** Fills a catalog with so many tables in the namespace `ns`. */
export async function seedTables(catalog: Catalog, count: number): Promise<void> {
  await catalog.createNamespace({ id: ['ns'] })
  await declareTables(catalog, count, () => ['ns'])
}

/** A catalog on disk of so many tables in the namespace `ns`; made once in a run. */
export function seededDirectory(count: number): Promise<string> {
  return sharedFolder(`catalog-${count}`, async (folder) => {
    await using catalog = await openCatalog(folder)
    await seedTables(catalog, count)
  })
}

/** Numbers below `count` in an order that jumps about. */
export const scattered = (i: number, count: number): number => (i * 7_919 + 13) % count
