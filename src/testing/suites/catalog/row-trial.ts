import type { CatalogUnderTest } from './trial.ts'

/** Test rows: `n` counts from `start`, `odd` is a flag, `text` is NULL in every third row. */
export function numbered(count: number, start = 0): Record<string, unknown>[] {
  return Array.from({ length: count }, (_, i) => {
    const n = start + i
    return { n, odd: n % 2 === 1, text: n % 3 === 0 ? null : `row ${n}` }
  })
}

/** How many rows a table has. */
export async function count(
  catalog: CatalogUnderTest,
  id: string[],
  request: { predicate?: string; version?: number; branch?: string } = {},
): Promise<number> {
  return (await catalog.countTableRows({ id, ...request })).count
}

/** A key of `order_by`. */
export type OrderKey = { column_name: string; ascending?: boolean; nulls_first?: boolean }

/** The rows of a response, with numbers for integers of any size. */
export async function answer(
  catalog: CatalogUnderTest,
  request: Parameters<CatalogUnderTest['queryTable']>[0],
): Promise<Record<string, unknown>[]> {
  const { tableFromIPC } = await import('@uwdata/flechette')
  const { data } = await catalog.queryTable(request)
  return tableFromIPC(data).toArray() as Record<string, unknown>[]
}

/** The operations that most cases of rows need. */
export const basic = ['createTable', 'countTableRows']
