import { float32 } from '@uwdata/flechette'
import { type AnyBatch, makeBatch } from '../../arrow/batch.ts'
import { allRows, hasRow } from '../../arrow/bitmap.ts'
import type { TimeSlice } from '../../scheduling/time-slice.ts'
import type { LoadedSnapshot } from '../format/snapshot.ts'
import { compile, selectMatches } from '../scan/fragment.ts'
import { withRowColumns } from '../scan/row-columns.ts'
import type { Storage } from '../storage/objects.ts'
import { distanceColumn } from './answer-columns.ts'
import { fetchRows, type RowsToFetch } from './fetch-rows.ts'
import type { Hits } from './search.ts'

/** Which of the rows found match a filter, which may ask for their distance: 1 for those that do. */
export async function postFilter(
  storage: Storage,
  snapshot: LoadedSnapshot,
  filter: string,
  now: number,
  { distances }: Hits,
  rows: RowsToFetch,
  timeSlice: TimeSlice,
): Promise<Uint8Array> {
  const { schema } = snapshot
  const { fields } = schema
  const distance = { name: distanceColumn, type: float32(), nullable: true, metadata: null as never }
  const predicate = await compile(filter, { ...schema, fields: [...fields, distance] }, now, timeSlice)
  const budget = predicate.budget()
  // Behind the distance come the columns of rows, which have its index without it.
  const read = predicate.columns.filter((index) => index !== fields.length)
  const all = withRowColumns(schema).fields
  const picks = read.map((index) => {
    const own = index > fields.length ? index - 1 : index
    return { path: [own], field: all[own]! }
  })
  const keep = new Uint8Array(distances.length)
  let start = 0
  for await (const batches of fetchRows(storage, snapshot, picks, rows, timeSlice)) {
    const end = start + (batches[0]?.length ?? distances.length)
    const columns: AnyBatch[] = []
    for (const [i, batch] of batches.entries()) columns[read[i]!] = batch
    columns[fields.length] = makeBatch(float32(), {
      length: end - start,
      values: distances.slice(start, end),
    })
    const fragment = { rows: { length: end - start, columns }, live: allRows(end - start) }
    const matches = await selectMatches(predicate, fragment, timeSlice, budget)
    for (let i = start; i < end; i++) if (hasRow(matches, i - start)) keep[i] = 1
    start = end
  }
  return keep
}
