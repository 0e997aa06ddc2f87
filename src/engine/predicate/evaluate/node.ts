import type { AnyBatch } from '../../arrow/batch.ts'
import type { Bitmap } from '../../arrow/bitmap.ts'
import type { Scalar } from '../plan/plan.ts'
import type { Frame } from './frame.ts'
import type { Vector } from './vector.ts'

/**
 * Which answers of a boolean expression matter to whoever asks: those where it is true, those where it is
 * false, or both. A filter wants what is true, and thus need not tell false from null.
 */
export type Wanted = 1 | 2 | 3
export const wantTrue: Wanted = 1
export const wantFalse: Wanted = 2
export const wantBoth: Wanted = 3

export interface Traits {
  /** Roughly how long a row takes, in units of a comparison of numbers. */
  readonly cost: number
  /** Whether a row can make it throw. */
  readonly raises: boolean
}

/** A boolean expression: gives the rows where it is true and those where it is false; the others are null. */
export interface TestNode extends Traits {
  /**
   * Writes the rows of `need` where the expression is true into `yes`, and those where it is false into `no`.
   * Of these two only what is wanted is defined. Rows outside of `need` are not looked at in a way that could
   * fail. `need` must not be `yes` or `no`.
   */
  test(frame: Frame, need: Bitmap, wanted: Wanted, yes: Bitmap, no: Bitmap): void
}

/**
 * A question asked of values: of one expression's, or of two that are compared. Writes the rows of `need`, for
 * which no value is null, where the answer is yes into `out`.
 */
export type Ask = (frame: Frame, vectors: Operands, need: Bitmap, out: Bitmap) => void

export type Operands = readonly [first: Vector, second?: Vector]

/** An expression of any type. */
export interface ValueNode extends Traits {
  /** The values of the rows in `need`; those of other rows are undefined. It lies in the frame's scratch memory. */
  vector(frame: Frame, need: Bitmap): Vector
  /** The value, when it is the same for every row. */
  readonly constant?: Scalar
  /** Rows of `need` that are not null, when that can be told without the values. */
  readonly validRows?: (frame: Frame, need: Bitmap) => Bitmap
  /** The batch the values lie in, and the rows that are not null, when it is a column. */
  readonly located?: (frame: Frame) => { readonly batch: AnyBatch; readonly valid: Bitmap | null }
}
