import type { TimeSlice } from '../../../base/scheduling/time-slice.ts'
import { type Bitmap, hasRow } from '../../arrow/bitmap.ts'
import type { SearchTask } from '../scan/message.ts'
import { DistanceBounds, type Estimates, type RowNumbers } from './distance-bounds.ts'
import { type Candidates, NearestRows } from './nearest.ts'
import type { QuantizedVectors } from './quantized-vectors.ts'
import { codeRowsInBlock, type SimdBlocks, type SimdMeasure } from './simd.ts'

/** Products of codes between two checks of the clock; they take about a millisecond. */
const codesAtOnce = 1 << 23

/** Most candidates of all queries in one fragment. Each takes 16 bytes. */
const maxCandidates = 1 << 17

/**
 * The least upper bounds of the rows that this thread met in one search, for each query. A thread searches each fragment
 * once.
 */
const met = new WeakMap<SearchTask, readonly NearestRows[]>()

/**
 * Finds the rows of a fragment that may be among the nearest of the table, for each query, among all rows or those in
 * `among`. One that it does not return is not among the nearest. Undefined if more than `most` may be, so that comparing
 * all vectors takes less time.
 */
export async function searchQuantized(
  task: SearchTask,
  { vectors, simd, most }: { vectors: QuantizedVectors; simd: SimdBlocks; most: number },
  among: Bitmap | undefined,
  timeSlice: TimeSlice,
): Promise<readonly Candidates[] | undefined> {
  const { queries, column, limit } = task
  const each = Math.min(most, Math.floor(maxCandidates / queries.length))
  if (each < limit) return undefined
  const lists: CandidateList[] = []
  const nearest = met.get(task) ?? queries.map(() => new NearestRows(limit))
  met.set(task, nearest)
  for (const [q, query] of queries.entries()) {
    const bounds = DistanceBounds.of(vectors, task.measure as SimdMeasure, query)
    if (bounds === undefined) return undefined
    const list = new CandidateList(task, bounds, nearest[q]!, each)
    for (const row of vectors.without) if (among === undefined || hasRow(among, row)) list.addUnknown(row)
    lists.push(list)
  }
  const { length } = vectors.squares
  const perRow = vectors.stride * queries.length
  const rowsAtOnce = Math.max(
    1,
    Math.min(codeRowsInBlock(column.dimension), Math.floor(codesAtOnce / perRow)),
  )
  const block = new Block(rowsAtOnce, vectors, among, simd)
  let multiplied = 0
  for (let start = 0; start < length; start += rowsAtOnce) {
    if (multiplied >= codesAtOnce) {
      multiplied = 0
      if (timeSlice.due) await timeSlice.rest()
    }
    block.load(start, Math.min(length, start + rowsAtOnce))
    if (block.count === 0) continue
    for (const list of lists) {
      const products = simd.multiply(list.bounds.codes, block.count)
      if (!list.add(block, products)) return undefined
    }
    multiplied += block.count * perRow
  }
  const found: Candidates[] = []
  for (const list of lists) {
    const candidates = list.done()
    if (candidates === undefined) return undefined
    found.push(candidates)
  }
  return found
}

/** Some rows whose codes are loaded. */
class Block implements RowNumbers {
  factors: Float32Array = new Float32Array(0)
  squares: Float32Array = new Float32Array(0)
  lengths: Float32Array = new Float32Array(0)
  count = 0
  readonly found: Estimates
  readonly #vectors: QuantizedVectors
  readonly #among: Bitmap | undefined
  readonly #simd: SimdBlocks
  /** The wanted rows. */
  readonly #rows: Int32Array
  /** The first row, if those that are loaded follow one another, wanted or not. */
  #first: number | undefined

  constructor(rows: number, vectors: QuantizedVectors, among: Bitmap | undefined, simd: SimdBlocks) {
    this.found = { places: new Int32Array(rows), estimates: new Float64Array(rows) }
    this.#rows = new Int32Array(among === undefined ? 0 : rows)
    this.#vectors = vectors
    this.#among = among
    this.#simd = simd
  }

  /** Loads the rows from `start` to `end`, or only those of them that are wanted. */
  load(start: number, end: number): void {
    const wanted = this.#among === undefined ? end - start : this.#select(this.#among, start, end)
    // Copying vectors one by one takes longer than multiplying some that are not wanted.
    if (wanted * 4 >= end - start) this.#loadRun(start, end)
    else this.#loadEach(wanted)
  }

  /** The row at a place; undefined if it is not wanted. */
  rowAt(place: number): number | undefined {
    if (this.#first === undefined) return this.#rows[place]
    const row = this.#first + place
    return this.#among === undefined || hasRow(this.#among, row) ? row : undefined
  }

  #select(among: Bitmap, start: number, end: number): number {
    let wanted = 0
    for (let row = start; row < end; row++) if (hasRow(among, row)) this.#rows[wanted++] = row
    return wanted
  }

  #loadRun(start: number, end: number): void {
    const { codes, stride, factors, squares, lengths } = this.#vectors
    this.#simd.codes.set(codes.subarray(start * stride, end * stride))
    this.factors = factors.subarray(start, end)
    this.squares = squares.subarray(start, end)
    this.lengths = lengths.subarray(start, end)
    this.count = end - start
    this.#first = start
  }

  #loadEach(wanted: number): void {
    const { codes, stride, factors, squares, lengths } = this.#vectors
    const rows = this.#rows.subarray(0, wanted)
    for (let k = 0; k < wanted; k++) {
      const from = rows[k]! * stride
      this.#simd.codes.set(codes.subarray(from, from + stride), k * stride)
    }
    this.factors = Float32Array.from(rows, (row) => factors[row]!)
    this.squares = Float32Array.from(rows, (row) => squares[row]!)
    this.lengths = Float32Array.from(rows, (row) => lengths[row]!)
    this.count = wanted
    this.#first = undefined
  }
}

/** Collects the candidates for one query. */
class CandidateList {
  readonly bounds: DistanceBounds
  readonly #least: number
  readonly #most: number
  /** Most candidates that are returned. Twice as many are collected, before those that are too far are removed. */
  readonly #each: number
  /** The least upper bounds, of other fragments, too. */
  readonly #nearest: NearestRows
  #rows: Int32Array
  #lower: Float32Array
  #upper: Float32Array
  #count = 0

  constructor({ lower, upper }: SearchTask, bounds: DistanceBounds, nearest: NearestRows, each: number) {
    this.bounds = bounds
    this.#least = lower ?? Number.NEGATIVE_INFINITY
    this.#most = upper ?? Number.POSITIVE_INFINITY
    this.#each = each
    this.#nearest = nearest
    const size = 64
    this.#rows = new Int32Array(size)
    this.#lower = new Float32Array(size)
    this.#upper = new Float32Array(size)
  }

  /** Adds a row of which nothing is known. */
  addUnknown(row: number): void {
    this.#push(row, Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY)
  }

  /** Adds those rows of a block that may be near. Returns false if there are too many. */
  add(block: Block, products: Int32Array): boolean {
    const { bounds } = this
    const { places, estimates } = block.found
    let cut = bounds.cutFor(this.#nearest.bound)
    const found = bounds.estimate(block, products, cut, block.found)
    for (let i = 0; i < found; i++) {
      const estimate = estimates[i]!
      if (estimate > cut) continue
      const row = block.rowAt(places[i]!)
      if (row === undefined) continue
      bounds.bound(row, estimate)
      const lower = below(bounds.lower)
      const upper = above(bounds.upper)
      if (lower > this.#nearest.bound || upper < this.#least || lower >= this.#most) continue
      const isSure = lower >= this.#least && upper < this.#most
      if (isSure && (upper < this.#nearest.bound || this.#nearest.hasRoom)) {
        this.#nearest.add(upper, row)
        cut = bounds.cutFor(this.#nearest.bound)
      }
      this.#push(row, lower, isSure ? upper : Number.POSITIVE_INFINITY)
      if (this.#count < 2 * this.#each) continue
      this.#removeFar()
      if (this.#count > this.#each) return false
    }
    return true
  }

  /** The candidates; undefined if there are too many. */
  done(): Candidates | undefined {
    this.#removeFar()
    const count = this.#count
    if (count > this.#each) return undefined
    return {
      positions: Float64Array.from(this.#rows.subarray(0, count)),
      lower: this.#lower.slice(0, count),
      upper: this.#upper.slice(0, count),
    }
  }

  #push(row: number, lower: number, upper: number): void {
    if (this.#count === this.#rows.length) this.#grow()
    this.#rows[this.#count] = row
    this.#lower[this.#count] = lower
    this.#upper[this.#count++] = upper
  }

  /** Removes the rows that are surely farther than enough others. */
  #removeFar(): void {
    const { bound } = this.#nearest
    let kept = 0
    for (let i = 0; i < this.#count; i++) {
      if (this.#lower[i]! > bound) continue
      this.#rows[kept] = this.#rows[i]!
      this.#lower[kept] = this.#lower[i]!
      this.#upper[kept++] = this.#upper[i]!
    }
    this.#count = kept
  }

  #grow(): void {
    const size = this.#rows.length * 2
    const grow = <A extends Int32Array | Float32Array>(old: A, larger: A): A => {
      larger.set(old)
      return larger
    }
    this.#rows = grow(this.#rows, new Int32Array(size))
    this.#lower = grow(this.#lower, new Float32Array(size))
    this.#upper = grow(this.#upper, new Float32Array(size))
  }
}

/** A number of 32 bits that is not above the given one. */
function below(value: number): number {
  const near = Math.min(largest, Math.fround(value))
  return near <= value ? near : Math.fround(near - Math.abs(near) * 2 ** -23 - 2 ** -149)
}

/** The largest number of 32 bits. */
const largest = (2 - 2 ** -23) * 2 ** 127

/** A number of 32 bits that is not below the given one. */
function above(value: number): number {
  return -below(-value)
}
