import { tableFromIPC } from '@uwdata/flechette'
import type { Catalog } from '../../src/tabularium/index.ts'

/** The rows of a table as plain objects. */
export async function rowsOf(
  catalog: Pick<Catalog, 'queryTable'>,
  id: readonly string[],
  request: Omit<Parameters<Catalog['queryTable']>[0], 'id'> = {},
): Promise<Record<string, unknown>[]> {
  const { data } = await catalog.queryTable({ ...request, id: [...id] })
  return tableFromIPC(data).toArray() as Record<string, unknown>[]
}

/** How many rows a table has. */
export async function countOf(
  catalog: Catalog,
  id: readonly string[],
  request: Omit<Parameters<Catalog['countTableRows']>[0], 'id'> = {},
): Promise<number> {
  return (await catalog.countTableRows({ ...request, id: [...id] })).count
}

/** Test rows: `n` counts from `start`, `half` is `n` divided by two, `name` a text, `odd` a flag. */
export function numbered(count: number, start = 0): Record<string, unknown>[] {
  return Array.from({ length: count }, (_, i) => {
    const n = start + i
    return { n, half: n / 2, name: `row ${n}`, odd: n % 2 === 1 }
  })
}
