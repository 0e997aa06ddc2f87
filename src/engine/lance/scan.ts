import type { WorkOptions } from '../table/table-engine.ts'
import type { DatasetToRead, RowsToScan } from './datasets.ts'
import type { NativeBatches, NativeTable } from './native.ts'
import type { LanceSession } from './session.ts'

/** About the most bytes of a batch, as they lie in files. */
const batchBytes = 4 << 20
/** Least rows of a batch of a scan. */
const leastRows = 16
/** Rows of a batch, where the package is not told how many. */
const usualRows = 1_024
/** Most rows of a batch: those that Lance reads at once by itself. */
const mostRows = 8_192

/** Batches of some rows of a version, which are read on demand. */
export async function* scanRows(
  session: LanceSession,
  dataset: DatasetToRead,
  rows: RowsToScan,
  work: WorkOptions,
): AsyncGenerator<Uint8Array> {
  let batches: NativeBatches | undefined
  try {
    for (;;) {
      const batch: Uint8Array | null = await session.read(dataset, work, async (table) => {
        batches ??= await begun(table, rows, await rowsOfBatch(table))
        return batches.next()
      })
      if (batch === null) return
      yield batch
    }
  } finally {
    batches?.close?.()
  }
}

/** The first batches of some rows, about as many as one batch has. */
export async function readRows(table: NativeTable, rows: RowsToScan): Promise<Uint8Array[]> {
  const most = await rowsOfBatch(table)
  const batches = await begun(table, { ...rows, limit: Math.min(rows.limit, most) }, most)
  const found: Uint8Array[] = []
  for (;;) {
    const batch = await batches.next()
    if (batch === null) return found
    found.push(batch)
  }
}

/** The rows of batches of scans, by the handles of versions. */
const known = new WeakMap<NativeTable, number>()

async function rowsOfBatch(table: NativeTable): Promise<number> {
  const before = known.get(table)
  if (before !== undefined) return before
  const { totalBytes, numRows } = await table.stats()
  const perRow = Math.max(1, totalBytes / Math.max(1, numRows))
  const rows = Math.min(mostRows, Math.max(leastRows, Math.floor(batchBytes / perRow)))
  known.set(table, rows)
  return rows
}

/**
 * The rows of batches of a query that reads all rows. Those of narrow tables may be many: by the package's own number,
 * Lance takes twice as long for a filter.
 */
export const rowsOfAnswer = async (table: NativeTable) => Math.max(usualRows, await rowsOfBatch(table))

function begun(
  table: NativeTable,
  { columns, offset, limit }: RowsToScan,
  most: number,
): Promise<NativeBatches> {
  const query = table.query()
  // By names alone, Lance takes a time that grows with the square of their number.
  query.select(columns.map((name): [string, string] => [name, name]))
  query.offset(offset)
  query.limit(limit)
  return query.execute(most)
}
