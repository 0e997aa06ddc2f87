import type { TimeSlice } from '../../../base/scheduling/time-slice.ts'
import type { AnyBatch } from '../../arrow/batch.ts'
import { halves } from '../../arrow/half.ts'
import { codeStrideOf } from './simd.ts'
import type { Element, VectorColumn } from './vector-column.ts'

/*
 * A quantized copy of a column: each vector as one byte for each component, its code, times a factor of the vector. It
 * also has the length of what that leaves out. So the distance to the copy bounds the distance to the vector.
 */

/** The largest code. */
export const maxCode = 127

/** The largest component of vectors that have codes. With others, 32 bits could not hold what belongs to the codes. */
const least = 1e-15
const most = 1e15

/** The part of rows without codes from which on a copy does not help. */
const mostWithout = 1 / 16

/** Components that are quantized between two checks of the clock. */
const componentsAtOnce = 1 << 18

/** A number above each of which the rounding to 32 bits leaves less. */
const up = 1 + 2 ** -22

/** A column in bytes, with the numbers that bound the distance of each row. Immutable, except for what it counts. */
export class QuantizedVectors {
  /** The codes of each vector, padded with zeros up to the stride. */
  readonly codes: Int8Array
  readonly stride: number
  /** For each row, what one code is worth. */
  readonly factors: Float32Array
  /** The squared length of each vector of codes, times its factor. NaN for a row that must not be compared by codes. */
  readonly squares: Float32Array
  /** The length of each vector. */
  readonly lengths: Float32Array
  /** At least the length of the difference between each vector and its codes, times its factor. */
  readonly errors: Float32Array
  /** The greatest square and error, and the greatest error of any vector in parts of its length. */
  readonly greatest = { square: 0, error: 0, share: 0 }
  /** Rows that have a vector and no codes, in order: only the vector itself tells its distance. */
  readonly without: readonly number[]
  #failed = 0
  #pause = 0

  private constructor(rows: number, dimension: number, without: number[]) {
    this.stride = codeStrideOf(dimension)
    this.codes = new Int8Array(rows * this.stride)
    this.factors = new Float32Array(rows)
    this.squares = new Float32Array(rows)
    this.lengths = new Float32Array(rows)
    this.errors = new Float32Array(rows)
    this.without = without
  }

  /** Whether vectors of a column have such copies. Those of bytes are as small themselves. */
  static supports({ element, isList }: VectorColumn): boolean {
    return !isList && element.startsWith('float')
  }

  /** The bytes of a copy. */
  static bytes(rows: number, dimension: number): number {
    return rows * (codeStrideOf(dimension) + 16)
  }

  /** The copy of a batch of vectors; undefined if too few of them have codes. */
  static async of(
    batch: AnyBatch,
    { dimension, element }: VectorColumn,
    timeSlice: TimeSlice,
  ): Promise<QuantizedVectors | undefined> {
    if (batch.children[0]!.nullCount > 0) return undefined
    const without: number[] = []
    const made = new QuantizedVectors(batch.length, dimension, without)
    const vectorAt = reader(batch, element, dimension)
    const rowsAtOnce = Math.max(1, Math.floor(componentsAtOnce / dimension))
    for (let row = 0; row < batch.length; row++) {
      if (row % rowsAtOnce === 0 && timeSlice.due) await timeSlice.rest()
      made.squares[row] = Number.NaN
      if (batch.nullCount > 0 && !batch.isValid(row)) continue
      if (!made.#add(row, vectorAt(row), dimension)) without.push(row)
      if (without.length > batch.length * mostWithout) return undefined
    }
    return made
  }

  /** Quantizes a vector. Returns false, and leaves the row out, if that is impossible. */
  #add(row: number, vector: Vector, dimension: number): boolean {
    const { values, start } = vector
    let largest = 0
    let sum = 0
    for (let i = start; i < start + dimension; i++) {
      const value = values[i]!
      const size = Math.abs(value)
      if (size > largest) largest = size
      sum += value * value
    }
    if (sum === 0 && largest === 0) {
      this.squares[row] = 0
      return true
    }
    // False for what is not a number: it is in the sum.
    if (!(largest >= least && largest <= most && sum < Number.POSITIVE_INFINITY)) return false
    const factor = Math.fround(largest / maxCode)
    const { squared, left } = this.#encode(row * this.stride, vector, dimension, factor)
    const length = Math.sqrt(sum)
    const error = Math.fround(Math.sqrt(left) * up)
    this.factors[row] = factor
    this.lengths[row] = length
    this.errors[row] = error
    this.squares[row] = factor * factor * squared
    const { greatest } = this
    greatest.error = Math.max(greatest.error, error)
    greatest.square = Math.max(greatest.square, this.squares[row]!)
    greatest.share = Math.max(greatest.share, error / length)
    return true
  }

  /** Writes the codes of a vector. Returns their squared length, and the squared length of what they leave out. */
  #encode(to: number, { values, start }: Vector, dimension: number, factor: number) {
    const { codes } = this
    const perFactor = 1 / factor
    let squared = 0
    let left = 0
    for (let i = 0; i < dimension; i++) {
      const value = values[start + i]!
      const code = value * perFactor + rounding - rounding
      const rest = value - code * factor
      codes[to + i] = code
      squared += code * code
      left += rest * rest
    }
    return { squared, left }
  }

  /**
   * Whether to search by this copy. False for a while after it did not help: each failure in a row doubles the number of
   * searches without it.
   */
  shouldTry(): boolean {
    if (this.#pause === 0) return true
    this.#pause--
    return false
  }

  /** Notes whether a search by this copy left few enough rows. */
  note(helped: boolean): void {
    this.#failed = helped ? 0 : Math.min(maxFailed, this.#failed + 1)
    this.#pause = helped ? 0 : 2 ** this.#failed
  }
}

/** After so many failures in a row, the number of searches without a copy no longer grows. */
const maxFailed = 8

/** Added to a number far below it and subtracted again, this rounds the number to an integer. */
const rounding = 1.5 * 2 ** 52

interface Vector {
  readonly values: Float32Array | Float64Array
  readonly start: number
}

/** Reads one vector at a time, until the next one is read. */
function reader(batch: AnyBatch, element: Element, dimension: number): (row: number) => Vector {
  const { values } = batch.children[0]!
  if (element !== 'float16') {
    const vector = { values: values as Float32Array | Float64Array, start: 0 }
    return (row) => {
      vector.start = row * dimension
      return vector
    }
  }
  const table = halves()
  const copy = { values: new Float32Array(dimension), start: 0 }
  return (row) => {
    const from = row * dimension
    for (let i = 0; i < dimension; i++) copy.values[i] = table[(values as Uint16Array)[from + i]!]!
    return copy
  }
}
