import type { TimeSlice } from '../../../base/scheduling/time-slice.ts'
import type { AnyBatch } from '../../arrow/batch.ts'
import type { Bitmap } from '../../arrow/bitmap.ts'
import type { Predicate, WorkBudget } from '../../predicate/index.ts'
import { readLive } from '../format/deletions.ts'
import type { FragmentLayout } from '../format/manifest.ts'
import type { TableFiles } from '../format/table-schema.ts'
import { readColumns } from '../read/fragment-read.ts'
import { batchAt } from '../read/projection.ts'
import { readFragment, selectMatches } from '../scan/evaluate.ts'
import type { FragmentNearest, SearchTask } from '../scan/message.ts'
import type { ReadStorage } from '../storage/objects.ts'
import { FragmentCopy } from './fragment-copy.ts'
import { type Candidates, NearestRows } from './nearest.ts'
import type { QuantizedVectors } from './quantized-vectors.ts'
import { compareRows, searchFragment } from './search-fragment.ts'
import { searchQuantized } from './search-quantized.ts'
import { simdBlocks } from './simd.ts'

/**
 * Reads the columns for a search of a fragment, or finds the quantized copy of its vectors. Returns a function that
 * searches among the matching rows.
 */
export async function beginSearch(
  storage: ReadStorage,
  table: TableFiles,
  predicate: Predicate | undefined,
  entry: FragmentLayout,
  task: SearchTask,
): Promise<(timeSlice: TimeSlice, budget: WorkBudget | undefined) => Promise<FragmentNearest>> {
  const { path, name } = task.column
  const readVectors = async () =>
    batchAt(path, name, (await readColumns(storage, table, entry, [path[0]!])).columns)
  const copy = simdBlocks() && FragmentCopy.of(storage, table, entry, task)
  const quantized = await copy?.cached()
  const makesCopy = copy !== undefined && quantized === undefined && copy.shouldMake()
  const reading = quantized ? undefined : readVectors()
  if (makesCopy) copy.giveWay()
  const [vectors, fragment, live] = await Promise.all([
    reading,
    predicate && readFragment(storage, table, predicate, entry),
    predicate ? undefined : readLive(storage, table.prefix, entry),
  ])
  return async (timeSlice, budget) => {
    const among = predicate && fragment ? await selectMatches(predicate, fragment, timeSlice, budget!) : live
    if (quantized) {
      const found = await searchCopy(task, { copy: copy!, quantized, readVectors }, among, timeSlice)
      if (found) return found
    }
    const batch = vectors ?? (await readVectors())
    const nearest = await searchFragment(task, batch, among, timeSlice)
    if (makesCopy) await copy.make(batch, task.column)
    return nearest
  }
}

interface CopyOfColumn {
  readonly copy: FragmentCopy
  readonly quantized: QuantizedVectors
  readonly readVectors: () => Promise<AnyBatch>
}

/** Searches by the copy. Undefined if that leaves too many rows. */
async function searchCopy(
  task: SearchTask,
  { copy, quantized, readVectors }: CopyOfColumn,
  among: Bitmap | undefined,
  timeSlice: TimeSlice,
): Promise<FragmentNearest | undefined> {
  const how = { vectors: quantized, simd: simdBlocks()!, most: copy.most }
  const candidates = await searchQuantized(task, how, among, timeSlice)
  quantized.note(candidates !== undefined)
  if (candidates === undefined) return undefined
  // Only a thread that sees all fragments knows which rows it has to read.
  if (!copy.hasColumn) return { nearest: [], candidates }
  const batch = await readVectors()
  return { nearest: task.queries.map((query, q) => nearestOf(task, query, batch, candidates[q]!)) }
}

function nearestOf(
  task: SearchTask,
  query: SearchTask['queries'][number],
  batch: AnyBatch,
  { positions }: Candidates,
) {
  const found = new NearestRows(task.limit)
  const rows = Int32Array.from(positions).sort()
  compareRows(task, query, { batch, rows, numbers: rows }, found)
  return found.sorted()
}
