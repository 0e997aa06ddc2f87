import type { Scalar } from '../../predicate/plan/plan.ts'
import type { ColumnStatistics } from '../../predicate/prune/statistics.ts'
import type { FragmentEntry } from '../format/manifest.ts'
import { fragmentsOf, type LoadedSnapshot } from '../format/snapshot.ts'
import { statisticsIn } from '../format/statistics.ts'
import type { TableSchema } from '../format/table-schema.ts'
import type { Job } from '../job.ts'
import {
  type FragmentPosition,
  liveRowsOf,
  readsOffsets,
  rowStatistics,
  withPositions,
} from '../scan/row-columns.ts'
import { compareKey, type SortKey, type SortValue } from './sort-keys.ts'
import { sortedRows } from './sort-rows.ts'

/** A value that no row of a fragment precedes, by statistics; undefined if none is known. */
export function bestValue(
  key: SortKey,
  schema: TableSchema,
  entry: FragmentEntry & FragmentPosition,
): SortValue | undefined {
  const statistics = statisticsOf(key, schema, entry)
  if (statistics === undefined) return undefined
  const { nullCount, hasNaN, min, max } = statistics
  if (nullCount === entry.rows || (nullCount > 0 && key.nullsFirst)) return null
  if (key.direction === 1) return sortValue(min)
  return hasNaN ? Number.NaN : sortValue(max)
}

/** A value that at least `wanted` rows of a version do not follow, by statistics; undefined if none is known. */
export async function boundOf(
  job: Job,
  snapshot: LoadedSnapshot,
  key: SortKey,
  wanted: number,
): Promise<SortValue | undefined> {
  if (wanted >= snapshot.rows) return undefined
  const { schema } = snapshot
  const fragments = fragmentsOf(job.storage, snapshot)
  const hasPositions = readsOffsets(schema, [key.path[0]!])
  const worst: { readonly value: SortValue; readonly rows: number }[] = []
  for await (const entry of hasPositions ? withPositions(fragments) : fragments) {
    const statistics = statisticsOf(key, schema, entry)
    if (statistics) {
      const { nullCount, hasNaN, min, max } = statistics
      const value = key.direction === -1 ? sortValue(min) : hasNaN ? Number.NaN : sortValue(max)
      // Nulls that come last do not count, and may all be among the live rows.
      const rows = liveRowsOf(entry) - (key.nullsFirst ? 0 : nullCount)
      if (value !== undefined && rows > 0) worst.push({ value, rows })
    }
    if (job.due) await job.rest()
  }
  const order = await sortedRows(
    worst.length,
    (a, b) => compareKey(key, worst[a]!.value, worst[b]!.value),
    1,
    job,
  )
  let rows = 0
  const last = order.find((at) => {
    rows += worst[at]!.rows
    return rows >= wanted
  })
  return last === undefined ? undefined : worst[last]!.value
}

function statisticsOf(
  { path }: SortKey,
  schema: TableSchema,
  entry: FragmentEntry & FragmentPosition,
): ColumnStatistics | undefined {
  const { length } = schema.fields
  return path[0]! < length ? statisticsIn(entry, schema, path) : rowStatistics(entry, path[0]! - length)
}

function sortValue(bound: Scalar | undefined): SortValue | undefined {
  switch (typeof bound) {
    case 'string':
      // Stands for bytes that are no UTF-8, which have another order.
      return bound.includes('\ufffd') ? undefined : Buffer.from(bound)
    case 'boolean':
      return Number(bound)
    case 'number':
    case 'bigint':
      return bound
    default:
      return undefined
  }
}
