import type { AnyBatch } from '../../arrow/batch.ts'
import type { Bitmap } from '../../arrow/bitmap.ts'
import type { Scalar } from '../plan/plan.ts'
import type { Frame } from './frame.ts'
import type { Vector } from './vector.ts'

/**
 * The outcomes of a boolean expression that the caller needs: true, false, or both. A filter needs only true, and thus
 * need not distinguish false from null.
 */
export type WantedOutcomes = 1 | 2 | 3
export const wantTrue: WantedOutcomes = 1
export const wantFalse: WantedOutcomes = 2
export const wantBoth: WantedOutcomes = 3

interface NodeTraits {
  /** Rough time for a row, in units of a comparison of numbers. */
  readonly cost: number
  /** Whether a row can make it throw. */
  readonly raises: boolean
}

/** A boolean expression: it finds the rows where it is true and those where it is false; the others are null. */
export interface TestNode extends NodeTraits {
  /**
   * Writes the rows of `need` where the expression is true into `yes`, and those where it is false into `no`. Only the
   * wanted outcomes are defined. Rows outside of `need` cannot cause an error. `need` must not be `yes` or `no`.
   */
  test(frame: Frame, need: Bitmap, wanted: WantedOutcomes, yes: Bitmap, no: Bitmap): void
}

/** Tests values of one or two expressions. Writes the rows of `need`, none of them null, that pass into `out`. */
export type VectorTest = (frame: Frame, vectors: Operands, need: Bitmap, out: Bitmap) => void

export type Operands = readonly [first: Vector, second?: Vector]

/** An expression of any type. */
export interface ValueNode extends NodeTraits {
  /** The values of the rows in `need`; those of other rows are undefined. Stored in the frame's scratch memory. */
  vector(frame: Frame, need: Bitmap): Vector
  /** The value, if it is the same for every row. */
  readonly constant?: Scalar
  /** Rows of `need` that are not null, if they can be found without the values. */
  readonly validRows?: (frame: Frame, need: Bitmap) => Bitmap
  /** For a column: the batch that stores the values, and the rows that are not null. */
  readonly located?: (frame: Frame) => { readonly batch: AnyBatch; readonly valid: Bitmap | null }
}
