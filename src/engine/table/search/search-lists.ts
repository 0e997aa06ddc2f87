import type { TimeSlice } from '../../../base/scheduling/time-slice.ts'
import type { AnyBatch } from '../../arrow/batch.ts'
import { type Bitmap, hasRow } from '../../arrow/bitmap.ts'
import { type Comparison, comparisonOf } from './comparison.ts'
import { type Nearest, NearestRows } from './nearest.ts'
import type { SearchTask } from './search-fragment.ts'
import { simdBlocks } from './simd.ts'
import { componentsAtOnce, hasNullItem } from './vector-items.ts'

/**
 * Most distances that are kept until all vectors of some rows were compared: one for each row and vector of the query.
 */
const mostKept = 1 << 18

/**
 * Finds the nearest rows of a column of lists of vectors, by late interaction. The distance of a query vector to a row
 * is the distance to the nearest vector of the row, and these distances are added. A vector that is null, has a null in
 * it, or has no distance is ignored. A row without any other vector is not found.
 */
export async function searchLists(
  task: SearchTask,
  lists: AnyBatch,
  among: Bitmap | undefined,
  timeSlice: TimeSlice,
): Promise<Nearest> {
  const least = task.lower ?? Number.NEGATIVE_INFINITY
  const most = task.upper ?? Number.NaN
  const found = new NearestRows(task.most)
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
    this.rowsAtOnce = Math.max(1, Math.min(1_024, Math.floor(mostKept / queries.length)))
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
