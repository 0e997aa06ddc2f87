import type { TimeSlice } from '../../../base/scheduling/time-slice.ts'
import { allRows, hasRow } from '../../arrow/bitmap.ts'
import type { LoadedSnapshot } from '../format/snapshot.ts'
import { compile, selectMatches } from '../scan/fragment.ts'
import type { Storage } from '../storage/objects.ts'
import { DistanceInputs, withDistance } from './distance-column.ts'
import { fetchRows, type RowsToFetch } from './fetch-rows.ts'
import type { Hits } from './search.ts'

/** Which of the found rows match a filter, which may use their distance: 1 for those that do. */
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
  const predicate = await compile(filter, withDistance(schema), now, timeSlice)
  const budget = predicate.budget()
  const inputs = new DistanceInputs(schema, predicate.columns)
  const keep = new Uint8Array(distances.length)
  let start = 0
  for await (const batches of fetchRows(storage, snapshot, inputs.picks, rows, timeSlice)) {
    const end = start + (batches[0]?.length ?? distances.length)
    const columns = inputs.columns(batches, distances.slice(start, end))
    const fragment = { rows: { length: end - start, columns }, live: allRows(end - start) }
    const matches = await selectMatches(predicate, fragment, timeSlice, budget)
    for (let i = start; i < end; i++) if (hasRow(matches, i - start)) keep[i] = 1
    start = end
  }
  return keep
}
