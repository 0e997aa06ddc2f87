import type { QueryVector } from './measures.ts'
import { codesTogether, componentsTogether, simdModule } from './simd-module.ts'

/** Bytes of vectors that are compared at once. They stay in the processor's cache while one query follows another. */
const blockBytes = 1 << 17

/** Components of the shortest vectors that the loops support. Copying shorter ones takes longer than comparing them. */
const minComponents = 32

/** Components of the longest vectors that the loops support. */
const maxComponents = blockBytes / 4

// The memory holds the vectors of a block, then a query, then a distance for each row.
const queryAt = blockBytes
const distancesAt = queryAt + maxComponents * 8
const maxRows = maxComponents / componentsTogether
const memoryBytes = distancesAt + maxRows * 8

/** A loop of the module. It writes the result of each row from `vectors` to `end` to `out`. */
type Loop = (vectors: number, end: number, rowBytes: number, query: number, out: number, norm: number) => void

interface Loops extends Readonly<Record<SimdMeasure | 'codes', Loop>> {
  readonly memory: { readonly buffer: ArrayBuffer }
}

/** The part of WebAssembly that is used. TypeScript declares it only with the types of browsers. */
interface Runtime {
  readonly Module: new (bytes: Uint8Array<ArrayBuffer>) => object
  readonly Instance: new (module: object) => { readonly exports: unknown }
}

/** The measures that have a loop. */
export type SimdMeasure = 'l2' | 'cosine' | 'dot'

/**
 * Compares blocks of float32 vectors with queries, several components at once. Sums have 64 bits. In the same memory it
 * multiplies blocks of vectors of codes.
 */
export class SimdBlocks {
  /** The vectors of a block: each has `stride` components, and its padding is 0. */
  readonly vectors: Float32Array
  /** The vectors of a block of codes: each has `codeStride` bytes, and its padding is 0. */
  readonly codes: Int8Array
  readonly #loops: Loops
  readonly #queries: Float64Array
  readonly #distances: Float64Array
  readonly #queryCodes: Int16Array
  readonly #products: Int32Array

  constructor(loops: Loops) {
    const { buffer } = loops.memory
    this.#loops = loops
    this.vectors = new Float32Array(buffer, 0, maxComponents)
    this.#queries = new Float64Array(buffer, queryAt, maxComponents)
    this.#distances = new Float64Array(buffer, distancesAt, maxRows)
    this.codes = new Int8Array(buffer, 0, blockBytes)
    this.#queryCodes = new Int16Array(buffer, queryAt, blockBytes)
    this.#products = new Int32Array(buffer, distancesAt, maxRows)
  }

  /** The distances of the first rows of the block, until the next call. */
  compare(measure: SimdMeasure, { values, norm }: QueryVector, rows: number): Float64Array {
    const stride = strideOf(values.length)
    this.#queries.set(values)
    this.#queries.fill(0, values.length, stride)
    this.#loops[measure](0, rows * stride * 4, stride * 4, queryAt, distancesAt, norm)
    return this.#distances
  }

  /** The dot products of a query with the first rows of the block of codes, until the next call. No sum may overflow. */
  multiply(query: Int16Array, rows: number): Int32Array {
    const stride = codeStrideOf(query.length)
    this.#queryCodes.set(query)
    this.#queryCodes.fill(0, query.length, stride)
    this.#loops.codes(0, rows * stride, stride, queryAt, distancesAt, 0)
    return this.#products
  }
}

/** Bytes from the start of a vector of codes to the start of the next one. */
export function codeStrideOf(dimension: number): number {
  return Math.ceil(dimension / codesTogether) * codesTogether
}

/** Vectors of codes that fit into a block, for a dimension whose vectors fit, too. */
export function codeRowsInBlock(dimension: number): number {
  return Math.min(maxRows, Math.floor(blockBytes / codeStrideOf(dimension)))
}

/** Components from the start of a vector in a block to the start of the next one. */
export function strideOf(dimension: number): number {
  return Math.ceil(dimension / componentsTogether) * componentsTogether
}

/** Vectors of a dimension that fit into a block; 0 for vectors that are too long or too short. */
export function rowsInBlock(dimension: number): number {
  return dimension < minComponents ? 0 : Math.floor(maxComponents / strideOf(dimension))
}

let blocks: SimdBlocks | undefined | 'untried' = 'untried'

/** The blocks of this thread; undefined if the runtime has no such instructions, or forbids compiling. */
export function simdBlocks(): SimdBlocks | undefined {
  if (blocks === 'untried') blocks = makeBlocks()
  return blocks
}

function makeBlocks(): SimdBlocks | undefined {
  const { WebAssembly: runtime } = globalThis as { readonly WebAssembly?: Runtime }
  if (runtime === undefined) return undefined
  try {
    const { exports } = new runtime.Instance(new runtime.Module(simdModule(memoryBytes)))
    return new SimdBlocks(exports as Loops)
  } catch {
    return undefined
  }
}
