import type { TimeSlice } from '../../../base/scheduling/time-slice.ts'
import type { AnyBatch, Values } from '../../arrow/batch.ts'
import { type Bitmap, hasRow } from '../../arrow/bitmap.ts'
import type { FragmentNearest, SearchTask } from '../scan/message.ts'
import { type Comparison, comparisonOf } from './comparison.ts'
import type { QueryVector } from './measures.ts'
import { type Nearest, NearestRows } from './nearest.ts'
import { simdBlocks } from './simd.ts'
import type { VectorColumn } from './vector-column.ts'

/**
 * The number of searches of a task: one for each query, or one for all of them together if rows are lists of vectors.
 */
export function searchesOf({
  column,
  queries,
}: {
  readonly column: VectorColumn
  readonly queries: readonly unknown[]
}): number {
  return column.isList ? 1 : queries.length
}

/** Finds the nearest of the rows in `among`, or of all rows. Skips rows without a vector. */
export async function searchFragment(
  task: SearchTask,
  batch: AnyBatch,
  among: Bitmap | undefined,
  timeSlice: TimeSlice,
): Promise<FragmentNearest> {
  const { queries, limit, column, measure } = task
  if (column.isList) return { nearest: [await searchLists(task, batch, among, timeSlice)] }
  const { dimension } = column
  const found = queries.map(() => new NearestRows(limit))
  const comparison = comparisonOf(batch, column, measure, simdBlocks())
  const perRow = Math.max(1, dimension * queries.length)
  const rowsAtOnce = Math.min(comparison.rowsAtOnce, Math.max(1, Math.floor(componentsAtOnce / perRow)))
  const rows = new Int32Array(rowsAtOnce)
  let compared = 0
  for (let start = 0; start < batch.length; start += rowsAtOnce) {
    if (compared >= componentsAtOnce) {
      compared = 0
      if (timeSlice.due) await timeSlice.rest()
    }
    const count = rowsToCompare(batch, among, start, Math.min(batch.length, start + rowsAtOnce), rows)
    if (count > 0) {
      comparison.load(rows, count)
      // Distances beyond these rows are of an earlier block.
      const loaded = rows.subarray(0, count)
      for (const [i, query] of queries.entries())
        keepNearest(task, batch, loaded, comparison.compare(query), found[i]!)
    }
    compared += rowsAtOnce * perRow
  }
  const nearest = found.map((rows) => rows.sorted())
  return task.withVectors ? { nearest, vectors: vectorsAt(batch, dimension, nearest) } : { nearest }
}

/** Writes the rows from `start` to `end` that are wanted and have a vector into `rows`, and returns their number. */
function rowsToCompare(
  batch: AnyBatch,
  among: Bitmap | undefined,
  start: number,
  end: number,
  rows: Int32Array,
): number {
  const isNullable = batch.nullCount > 0
  let count = 0
  for (let row = start; row < end; row++) {
    if (among !== undefined && !hasRow(among, row)) continue
    if (isNullable && !batch.isValid(row)) continue
    rows[count++] = row
  }
  return count
}

function keepNearest(
  { lower, upper, column: { dimension } }: SearchTask,
  batch: AnyBatch,
  rows: Int32Array,
  distances: Float64Array,
  found: NearestRows,
): void {
  const least = lower ?? Number.NEGATIVE_INFINITY
  const most = upper ?? Number.NaN
  const items = batch.children[0]!
  const hasNullItems = items.nullCount > 0
  let bound = found.bound
  let hasRoom = found.hasRoom
  for (let i = 0; i < rows.length; i++) {
    const distance = Math.fround(distances[i]!)
    // Comparisons with NaN are false: such a row has no distance.
    if (!(distance < bound || (hasRoom && distance === bound)) || distance < least || distance >= most)
      continue
    const row = rows[i]!
    if (hasNullItems && hasNullItem(items, row, dimension)) continue
    found.add(distance, row)
    bound = found.bound
    hasRoom = found.hasRoom
  }
}

/** Compares some rows of a batch with a query, and adds them to the nearest under the numbers that they have there. */
export function compareRows(
  { column, measure, lower, upper }: SearchTask,
  query: QueryVector,
  { batch, rows, numbers }: RowsOfBatch,
  found: NearestRows,
): void {
  const comparison = comparisonOf(batch, column, measure, simdBlocks())
  const least = lower ?? Number.NEGATIVE_INFINITY
  const most = upper ?? Number.NaN
  for (let start = 0; start < rows.length; start += comparison.rowsAtOnce) {
    const some = rows.subarray(start, start + comparison.rowsAtOnce)
    comparison.load(some, some.length)
    const distances = comparison.compare(query)
    for (let i = 0; i < some.length; i++) {
      const distance = Math.fround(distances[i]!)
      if (Number.isNaN(distance) || distance < least || distance >= most) continue
      found.add(distance, numbers[start + i]!)
    }
  }
}

/** Rows of a batch, in order. None has a null in its vector. */
export interface RowsOfBatch {
  readonly batch: AnyBatch
  readonly rows: Int32Array
  /** What each row is called. */
  readonly numbers: ArrayLike<number>
}

function vectorsAt(batch: AnyBatch, dimension: number, nearest: readonly Nearest[]): Values {
  const source = batch.children[0]!.values as Float32Array
  let count = 0
  for (const { positions } of nearest) count += positions.length
  const vectors = new (source.constructor as Float32ArrayConstructor)(count * dimension)
  let to = 0
  for (const { positions } of nearest) {
    for (const row of positions) {
      vectors.set(source.subarray(row * dimension, (row + 1) * dimension), to)
      to += dimension
    }
  }
  return vectors
}

/** Components between two checks of the clock; they take about a millisecond. */
const componentsAtOnce = 1 << 20

/** Whether a vector has a null among its components. */
function hasNullItem(items: AnyBatch, vector: number, dimension: number): boolean {
  for (let i = vector * dimension; i < (vector + 1) * dimension; i++) if (!items.isValid(i)) return true
  return false
}

/**
 * Most distances that are kept until all vectors of some rows were compared: one for each row and vector of the query.
 */
const maxKept = 1 << 18

/**
 * Finds the nearest rows of a column of lists of vectors, by late interaction. The distance of a query vector to a row
 * is the distance to the nearest vector of the row, and these distances are added. A vector that is null, has a null in
 * it, or has no distance is ignored. A row without any other vector is not found.
 */
async function searchLists(
  task: SearchTask,
  lists: AnyBatch,
  among: Bitmap | undefined,
  timeSlice: TimeSlice,
): Promise<Nearest> {
  const least = task.lower ?? Number.NEGATIVE_INFINITY
  const most = task.upper ?? Number.NaN
  const found = new NearestRows(task.limit)
  const nearest = new NearestVectors(task, lists.children[0]!)
  const { offsets } = lists
  const { rowsAtOnce } = nearest
  for (let start = 0; start < lists.length; start += rowsAtOnce) {
    const end = Math.min(lists.length, start + rowsAtOnce)
    for (let row = start; row < end; row++) {
      if (among !== undefined && !hasRow(among, row)) continue
      if (lists.nullCount > 0 && !lists.isValid(row)) continue
      const last = Number(offsets[row + 1]!)
      for (let vector = Number(offsets[row]!); vector < last; vector++) {
        nearest.add(row - start, vector)
        if (nearest.compared < componentsAtOnce) continue
        nearest.compared = 0
        if (timeSlice.due) await timeSlice.rest()
      }
    }
    const sums = nearest.sums(end - start)
    if (sums === undefined) continue
    for (let i = 0; i < end - start; i++) {
      const distance = Math.fround(sums[i]!)
      if (Number.isNaN(distance) || distance < least || distance >= most) continue
      found.add(distance, start + i)
    }
  }
  return found.sorted()
}

/** For some rows, the distance of the nearest vector of each row to each vector of the query. */
class NearestVectors {
  /** Components that were compared since the caller reset it. */
  compared = 0
  readonly rowsAtOnce: number
  readonly #task: SearchTask
  readonly #vectors: AnyBatch
  readonly #comparison: Comparison
  /** The next vectors to compare, and the row of each. */
  readonly #waiting: Int32Array
  readonly #rowOf: Int32Array
  #count = 0
  /** The distances of rows for each vector of the query; NaN for a row without any. */
  readonly #least: Float64Array
  readonly #sums: Float64Array
  /** Whether there is any distance. */
  #isEmpty = true

  constructor(task: SearchTask, vectors: AnyBatch) {
    this.#task = task
    this.#vectors = vectors
    this.#comparison = comparisonOf(vectors, task.column, task.measure, simdBlocks())
    const { queries, column } = task
    const affordable = Math.floor(componentsAtOnce / Math.max(1, column.dimension * queries.length))
    const vectorsAtOnce = Math.max(1, Math.min(this.#comparison.rowsAtOnce, affordable))
    this.rowsAtOnce = Math.max(1, Math.min(1_024, Math.floor(maxKept / queries.length)))
    this.#waiting = new Int32Array(vectorsAtOnce)
    this.#rowOf = new Int32Array(vectorsAtOnce)
    this.#least = new Float64Array(this.rowsAtOnce * queries.length).fill(Number.NaN)
    this.#sums = new Float64Array(this.rowsAtOnce)
  }

  /** Adds a vector of a row. Vectors must be in the order of the column. */
  add(row: number, vector: number): void {
    const { nullCount, children } = this.#vectors
    if (nullCount > 0 && !this.#vectors.isValid(vector)) return
    const items = children[0]!
    if (items.nullCount > 0 && hasNullItem(items, vector, this.#task.column.dimension)) return
    this.#rowOf[this.#count] = row
    this.#waiting[this.#count++] = vector
    if (this.#count === this.#waiting.length) this.#compare()
  }

  /** The distances of the first `count` rows, until the next call; undefined if none has any. Resets the rows. */
  sums(rows: number): Float64Array | undefined {
    this.#compare()
    if (this.#isEmpty) return undefined
    this.#isEmpty = true
    const least = this.#least
    this.#sums.fill(0)
    for (let from = 0; from < least.length; from += this.rowsAtOnce) {
      for (let i = 0; i < rows; i++) this.#sums[i]! += least[from + i]!
    }
    least.fill(Number.NaN)
    this.compared += least.length
    return this.#sums
  }

  #compare(): void {
    const { queries, column } = this.#task
    const count = this.#count
    if (count === 0) return
    this.#comparison.load(this.#waiting, count)
    for (const [q, query] of queries.entries()) {
      const distances = this.#comparison.compare(query)
      const first = q * this.rowsAtOnce
      for (let i = 0; i < count; i++) {
        const distance = distances[i]!
        const at = first + this.#rowOf[i]!
        // Comparisons with NaN are false.
        if (distance < this.#least[at]! || Number.isNaN(this.#least[at]!)) this.#least[at] = distance
      }
    }
    this.compared += count * column.dimension * queries.length
    this.#count = 0
    this.#isEmpty = false
  }
}
