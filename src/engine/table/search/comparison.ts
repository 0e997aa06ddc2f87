import type { AnyBatch } from '../../arrow/batch.ts'
import { halves } from '../../arrow/half.ts'
import { distances, type Measure, type QueryVector, type Vectors } from './measures.ts'
import { rowsInBlock, type SimdBlocks, type SimdMeasure, strideOf } from './simd.ts'
import type { VectorColumn } from './vector-column.ts'

/** Compares rows of a column with queries, some rows at a time. */
export interface Comparison {
  /** Most rows that are loaded at once. */
  readonly rowsAtOnce: number
  /** Loads the first `count` of some rows, in increasing order. They must be compared before the next call. */
  load(rows: Int32Array, count: number): void
  /** The distances of the loaded rows to a query, until the next call. Undefined distances are NaN. */
  compare(query: QueryVector): Float64Array
}

/**
 * Compares the vectors of a batch. Without `simd`, and for doubles, bits and short vectors, one component at a time.
 */
export function comparisonOf(
  batch: AnyBatch,
  column: VectorColumn,
  measure: Measure,
  simd: SimdBlocks | undefined,
): Comparison {
  const rowsAtOnce = rowsInBlock(column.dimension)
  return simd === undefined || rowsAtOnce === 0 || measure === 'hamming' || column.element === 'float64'
    ? new PlainComparison(batch, column, measure)
    : new SimdComparison(batch, column, measure, simd, rowsAtOnce)
}

class SimdComparison implements Comparison {
  readonly rowsAtOnce: number
  readonly #measure: SimdMeasure
  readonly #simd: SimdBlocks
  readonly #copy: Copy
  #count = 0

  constructor(
    batch: AnyBatch,
    column: VectorColumn,
    measure: SimdMeasure,
    simd: SimdBlocks,
    rowsAtOnce: number,
  ) {
    this.rowsAtOnce = rowsAtOnce
    this.#measure = measure
    this.#simd = simd
    this.#copy = copyOf(batch, column, simd.vectors, strideOf(column.dimension))
  }

  load(rows: Int32Array, count: number): void {
    this.#copy(rows, count)
    this.#count = count
  }

  compare(query: QueryVector): Float64Array {
    return this.#simd.compare(this.#measure, query, this.#count)
  }
}

/** Components that are converted together, so that they are still in the processor's cache when they are used. */
const componentsConverted = 1 << 13

class PlainComparison implements Comparison {
  readonly rowsAtOnce: number
  readonly #measure: Measure
  readonly #dimension: number
  readonly #vectors: Vectors
  /** Copies rows to the beginning of the vectors; undefined if the column's own vectors are used. */
  readonly #copy: Copy | undefined
  readonly #distances: Float64Array
  #rows: Int32Array = new Int32Array(0)
  #count = 0

  constructor(batch: AnyBatch, column: VectorColumn, measure: Measure) {
    const { dimension, element } = column
    this.rowsAtOnce = Math.max(1, Math.floor(componentsConverted / Math.max(1, dimension)))
    this.#measure = measure
    this.#dimension = dimension
    this.#distances = new Float64Array(this.rowsAtOnce)
    if (element === 'float32' || element === 'float64') {
      this.#vectors = batch.children[0]!.values as Vectors
    } else {
      this.#vectors = new Float32Array(this.rowsAtOnce * dimension)
      this.#copy = copyOf(batch, column, this.#vectors, dimension)
    }
  }

  load(rows: Int32Array, count: number): void {
    this.#copy?.(rows, count)
    this.#rows = rows
    this.#count = count
  }

  compare(query: QueryVector): Float64Array {
    const distanceTo = distances[this.#measure]
    const dimension = this.#dimension
    const isCopied = this.#copy !== undefined
    for (let i = 0; i < this.#count; i++) {
      const start = (isCopied ? i : this.#rows[i]!) * dimension
      this.#distances[i] = distanceTo(this.#vectors, start, query)
    }
    return this.#distances
  }
}

type Copy = (rows: Int32Array, count: number) => void

/** Copies vectors one after the other to `to` as floats, each padded with zeros up to the stride. */
function copyOf(
  batch: AnyBatch,
  { element, dimension }: VectorColumn,
  to: Float32Array,
  stride: number,
): Copy {
  const { values } = batch.children[0]!
  if (element === 'float32') return copyFloats(values as Float32Array, dimension, to, stride)
  const isHalf = element === 'float16'
  return (rows, count) => {
    for (let k = 0, at = 0; k < count; k++, at += stride) {
      const start = rows[k]! * dimension
      if (isHalf) copyHalves(values as Uint16Array, start, to, at, dimension)
      else copyBytes(values as Int8Array | Uint8Array, start, to, at, dimension)
      for (let i = dimension; i < stride; i++) to[at + i] = 0
    }
  }
}

function copyHalves(from: Uint16Array, start: number, to: Float32Array, at: number, count: number): void {
  const table = halves()
  for (let i = 0; i < count; i++) to[at + i] = table[from[start + i]!]!
}

function copyBytes(
  from: Int8Array | Uint8Array,
  start: number,
  to: Float32Array,
  at: number,
  count: number,
): void {
  for (let i = 0; i < count; i++) to[at + i] = from[start + i]!
}

function copyFloats(from: Float32Array, dimension: number, to: Float32Array, stride: number): Copy {
  return (rows, count) => {
    const first = rows[0]!
    if (stride === dimension && rows[count - 1]! - first === count - 1) {
      to.set(from.subarray(first * dimension, (first + count) * dimension))
      return
    }
    for (let k = 0, at = 0; k < count; k++, at += stride) {
      const start = rows[k]! * dimension
      to.set(from.subarray(start, start + dimension), at)
      for (let i = dimension; i < stride; i++) to[at + i] = 0
    }
  }
}
