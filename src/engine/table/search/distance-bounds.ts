import type { QueryVector } from './measures.ts'
import { maxCode, type QuantizedVectors } from './quantized-vectors.ts'
import type { SimdMeasure } from './simd.ts'

/*
 * What the codes of a vector x tell of its distance to a query q. The codes stand for the vector X, with |x - X| at most
 * the error e; the codes of the query for Q, with |q - Q| at most f. The product of X and Q is known exactly. So
 *
 * - `l2`: |x - q| differs from |X - Q| by at most e + f.
 * - `cosine`: the distance is half the square of |x - q|, after both were divided by their lengths.
 * - `dot`: x·q differs from X·Q by (x - X)·q + X·(q - Q), which is at most e |q| + |X| f.
 */

/**
 * A part of the squared lengths that is far above all that rounding to 32 bits loses: of these bounds, of the numbers
 * that belong to the codes, and of the distance that is compared.
 */
const lost = 2 ** -19

/** A query whose components are larger or smaller is compared with the vectors themselves. */
const shortest = 1e-15
const longest = 1e15

/** The largest code of a query: it has 16 bits. */
const maxQueryCode = 32_767

/** The numbers that belong to the codes of some rows. */
export interface RowNumbers {
  readonly factors: Float32Array
  readonly squares: Float32Array
  readonly lengths: Float32Array
  readonly count: number
}

/** Estimates of rows, by their places among some rows. */
export interface Estimates {
  readonly places: Int32Array
  readonly estimates: Float64Array
}

/** Bounds of the distances of rows to a query, by the products of their codes. */
export class DistanceBounds {
  /** The codes of the query. */
  readonly codes: Int16Array
  /** The bounds of the row that `bound` was last called with. */
  lower = 0
  upper = 0
  readonly #vectors: QuantizedVectors
  readonly #measure: SimdMeasure
  /** What one code of the query is worth. */
  readonly #factor: number
  readonly #error: number
  readonly #square: number
  readonly #length: number

  private constructor(vectors: QuantizedVectors, measure: SimdMeasure, values: Float64Array, length: number) {
    this.#vectors = vectors
    this.#measure = measure
    this.#length = length
    let largest = 0
    for (const value of values) largest = Math.max(largest, Math.abs(value))
    // A sum of products must fit into 32 bits.
    const most = Math.min(maxQueryCode, Math.floor((2 ** 31 - 1) / (maxCode * values.length)))
    const factor = largest / most
    this.codes = new Int16Array(values.length)
    let square = 0
    let left = 0
    for (let i = 0; i < values.length; i++) {
      const value = values[i]!
      const code = largest === 0 ? 0 : Math.round(value / factor)
      this.codes[i] = code
      square += (code * factor) ** 2
      left += (value - code * factor) ** 2
    }
    this.#factor = factor
    this.#square = square
    this.#error = Math.sqrt(left) * (1 + lost)
  }

  /** Undefined for a query that has no codes. */
  static of(
    vectors: QuantizedVectors,
    measure: SimdMeasure,
    { values, norm }: QueryVector,
  ): DistanceBounds | undefined {
    if (norm === 0 ? measure === 'cosine' : !(norm >= shortest && norm <= longest)) return undefined
    if (measure !== 'cosine') return new DistanceBounds(vectors, measure, values, norm)
    return new DistanceBounds(
      vectors,
      measure,
      values.map((value) => value / norm),
      1,
    )
  }

  /**
   * Estimates the distances of rows, from the products of their codes: for `l2` and `cosine` the square of the distance
   * of the codes. Writes those up to `cut`, and their places among the rows. Returns how many these are. None is of a row
   * without codes, or without a distance.
   */
  estimate(
    { factors, squares, lengths, count }: RowNumbers,
    products: Int32Array,
    cut: number,
    to: Estimates,
  ) {
    const { places, estimates } = to
    const square = this.#square
    const factor = this.#factor
    let found = 0
    if (this.#measure === 'l2') {
      for (let i = 0; i < count; i++) {
        const estimate = squares[i]! - 2 * factor * factors[i]! * products[i]! + square
        // Comparisons with NaN are false.
        if (!(estimate <= cut)) continue
        estimates[found] = estimate
        places[found++] = i
      }
    } else if (this.#measure === 'cosine') {
      for (let i = 0; i < count; i++) {
        const perLength = 1 / lengths[i]!
        const product = 2 * factor * factors[i]! * products[i]!
        const estimate = (squares[i]! * perLength - product) * perLength + square
        if (!(estimate <= cut)) continue
        estimates[found] = estimate
        places[found++] = i
      }
    } else {
      for (let i = 0; i < count; i++) {
        const estimate = 1 - factor * factors[i]! * products[i]!
        // The square is NaN for a row without codes.
        if (!(estimate <= cut && squares[i]! >= 0)) continue
        estimates[found] = estimate
        places[found++] = i
      }
    }
    return found
  }

  /** The estimate above which no row has a lower bound up to this distance. */
  cutFor(distance: number): number {
    const { square, error, share } = this.#vectors.greatest
    if (this.#measure === 'dot') {
      return distance + (this.#ofProducts(error, square) + this.#lostProduct(square)) * (1 + lost)
    }
    const isCosine = this.#measure === 'cosine'
    const slack = lost * ((isCosine ? 2 : square) + this.#square)
    const root = Math.sqrt((isCosine ? 2 * distance : distance) + slack)
    const wide = (root + (isCosine ? share + lost : error) + this.#error) * (1 + lost)
    return wide * wide + slack
  }

  /** Sets the bounds of a row, from its estimate. */
  bound(row: number, estimate: number): void {
    const { errors, squares, lengths } = this.#vectors
    const square = squares[row]!
    if (this.#measure === 'dot') {
      const around = this.#ofProducts(errors[row]!, square) + this.#lostProduct(square)
      this.lower = estimate - around
      this.upper = estimate + around
      return
    }
    const isCosine = this.#measure === 'cosine'
    const length = lengths[row]!
    const slack = lost * ((isCosine ? 2 : square) + this.#square)
    const error = (isCosine ? errors[row]! / length + lost : errors[row]!) + this.#error
    const near = Math.max(0, Math.sqrt(Math.max(0, estimate - slack)) - error)
    const far = Math.sqrt(Math.max(0, estimate + slack)) + error
    const scale = isCosine ? 0.5 : 1
    this.lower = scale * (near * near - slack)
    this.upper = scale * (far * far + slack)
  }

  /** The most that products of a vector with this error and square may be off. */
  #ofProducts(error: number, square: number): number {
    return error * this.#length + Math.sqrt(square) * this.#error
  }

  /** What rounding may lose of a product. */
  #lostProduct(square: number): number {
    return lost * (1 + Math.sqrt(square) * this.#length)
  }
}
