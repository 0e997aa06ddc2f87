import type { TimeSlice } from '../../../base/scheduling/time-slice.ts'
import type { Bitmap } from '../../arrow/bitmap.ts'
import { wordsFor } from '../../arrow/bitmap.ts'
import type { Predicate, WorkBudget } from '../../predicate/index.ts'
import { readLive } from '../format/deletions.ts'
import type { FragmentLayout } from '../format/manifest.ts'
import type { TableFiles } from '../format/table-schema.ts'
import { walk } from '../scan/evaluate.ts'
import type { FragmentBest, OrderTask } from '../scan/message.ts'
import type { ReadStorage } from '../storage/objects.ts'
import { BestRows } from './best-rows.ts'
import { addBest } from './find-best.ts'
import { readColumns } from './fragment-read.ts'
import { batchAt } from './projection.ts'
import { maxSortedBytes } from './sort-rows.ts'

/** The answer for a fragment without rows. */
export const noneBest: FragmentBest = { rows: new Int32Array(0), values: [], seen: 0 }

/**
 * Reads the columns for the order of a fragment. Returns a function that finds the first of the matching rows, or of those
 * in `matches`. A predicate must not be able to fail, as it is evaluated only on rows that may be among the first.
 */
export async function beginOrder(
  storage: ReadStorage,
  table: TableFiles,
  predicate: Predicate | undefined,
  entry: FragmentLayout,
  task: OrderTask,
  matches?: Bitmap,
): Promise<(timeSlice: TimeSlice, budget: WorkBudget | undefined) => Promise<FragmentBest>> {
  const { keys, most } = task
  const indices = new Set([...keys.map(({ path }) => path[0]!), ...(predicate?.columns ?? [])])
  const [rows, among] = await Promise.all([
    readColumns(storage, table, entry, indices),
    matches ?? readLive(storage, table.prefix, entry),
  ])
  const batches = keys.map(({ path, name }) => batchAt(path, name, rows.columns))
  return async (timeSlice, budget) => {
    const best = new BestRows(keys, most, maxSortedBytes, task.bound)
    const matching =
      predicate &&
      ((start: number, end: number) => {
        const live = among?.subarray(start >>> 5, wordsFor(end))
        return walk(predicate.steps(rows, start, end, live, budget), timeSlice)
      })
    await addBest(best, { fragment: 0, batches, among, matching }, timeSlice)
    return best.found(timeSlice)
  }
}
