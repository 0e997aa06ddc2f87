import type { DataType } from '@uwdata/flechette'
import type { AnyBatch } from '../../arrow/batch.ts'
import type { Bitmap } from '../../arrow/bitmap.ts'
import type { Scalar } from '../plan/plan.ts'

export type NumberArray =
  | Int8Array
  | Uint8Array
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array
  | Float32Array
  | Float64Array

/** The values of one expression for the rows of a slice. */
export type Vector = Numbers | Longs | Wide | Texts | Booleans | Codes | Scalars

interface Common {
  readonly type: DataType
  /** Rows that are not null, perhaps with others that were not needed; null if no row is null. */
  readonly valid: Bitmap | null
}

/** Numbers that are numbers in JavaScript. */
export interface Numbers extends Common {
  readonly kind: 'numbers'
  readonly values: NumberArray
}

/** 64-bit integers. */
export interface Longs extends Common {
  readonly kind: 'longs'
  readonly values: BigInt64Array | BigUint64Array
}

/** Integers of 128 or 256 bits in two's complement: 4 or 8 words each, the lowest first. */
export interface Wide extends Common {
  readonly kind: 'wide'
  readonly values: Uint32Array
  readonly stride: number
}

/** Strings in UTF-8, or bytes: value `i` is from `offsets[i]` to `offsets[i + 1]`. */
export interface Texts extends Common {
  readonly kind: 'texts'
  readonly bytes: Uint8Array
  readonly offsets: Int32Array
}

interface Booleans extends Common {
  readonly kind: 'booleans'
  readonly values: Bitmap
}

/** Dictionary- or run-end-encoded values: row `i` is entry `codes[i]`, counted over all batches. */
export interface Codes extends Common {
  readonly kind: 'codes'
  readonly codes: NumberArray
  readonly entries: readonly AnyBatch[]
  /** The cache key for results of these entries. */
  readonly key: object
}

/** Anything else, as JavaScript values, nulls included. */
interface Scalars extends Common {
  readonly kind: 'scalars'
  readonly values: readonly Scalar[]
}
