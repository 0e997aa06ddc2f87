import type { Schema } from '@uwdata/flechette'
import type { LoadedSnapshot } from '../format/snapshot.ts'
import type { Job } from '../job.ts'
import {
  compareKey,
  effectiveKeys,
  type SortKey,
  type SortValue,
  sortKeys,
  sortReader,
} from '../read/sort-keys.ts'
import { sortedRows } from '../read/sort-rows.ts'
import { withRowColumns } from '../scan/row-columns.ts'
import type { Ordering } from '../table-engine.ts'
import { distanceColumn } from './distance-column.ts'
import { fetchRows, type RowsToFetch } from './fetch-rows.ts'

/** The sort keys for the rows that a search found. The distance may be one; it has no path. */
export function searchOrder(schema: Schema, orderBy: readonly Ordering[], most?: number): SortKey[] {
  const make = (ordering: Ordering): SortKey => {
    if (ordering.column !== distanceColumn) return sortKeys(schema, [ordering])[0]!
    const direction = ordering.descending === true ? -1 : 1
    return { name: distanceColumn, path: [], direction, nullsFirst: ordering.nullsFirst === true }
  }
  return effectiveKeys(orderBy, make, schema.fields.length, most)
}

/** The rows in the order of the keys, for each vector separately. Equal ones keep their order. */
export async function inOrder(
  job: Job,
  snapshot: LoadedSnapshot,
  { positions, distances, queries }: Hits,
  keys: readonly SortKey[],
  rows: RowsToFetch,
): Promise<Hits> {
  const { fields } = withRowColumns(snapshot.schema)
  const stored = keys.filter(({ path }) => path.length > 0)
  const picks = stored.map(({ path, name }) => ({ path, field: { ...fieldAt(fields, path), name } }))
  const values: SortValue[][] = stored.map(() => [])
  for await (const batches of fetchRows(job, snapshot, picks, rows)) {
    for (const [k, batch] of batches.entries()) {
      const read = sortReader(batch)
      for (let row = 0; row < batch.length; row++) values[k]!.push(read(row))
    }
  }
  const byKey = keys.map((key) =>
    key.path.length > 0 ? values[stored.indexOf(key)]! : (distances as ArrayLike<SortValue>),
  )
  const compare = (a: number, b: number) => {
    if (queries[a] !== queries[b]) return queries[a]! - queries[b]!
    for (const [k, key] of keys.entries()) {
      const result = compareKey(key, byKey[k]![a]!, byKey[k]![b]!)
      if (result !== 0) return result
    }
    return a - b
  }
  const order = await sortedRows(positions.length, compare, keys.length, job)
  return {
    positions: Float64Array.from(order, (i) => positions[i]!),
    distances: Float32Array.from(order, (i) => distances[i]!),
    queries: Int32Array.from(order, (i) => queries[i]!),
  }
}

function fieldAt(fields: Schema['fields'], [first, ...rest]: readonly number[]): Schema['fields'][number] {
  const field = fields[first!]!
  return rest.length === 0 ? field : fieldAt((field.type as { children: Schema['fields'] }).children, rest)
}

/** The rows that a search found, in the order of the answer. */
export interface Hits {
  readonly positions: Float64Array
  readonly distances: Float32Array
  /** For each hit, the search that found it. */
  readonly queries: Int32Array
}
