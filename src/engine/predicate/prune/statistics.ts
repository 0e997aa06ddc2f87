import type { Scalar } from '../plan/plan.ts'

/**
 * What is known of all values of one column (or of one field in a struct) of a fragment without reading it.
 * Deleted rows are still counted in, so bounds may be wider than what is left.
 *
 * Strings are ordered by code points, which is the order of their UTF-8 bytes (and not JavaScript's `<`).
 * A field in a struct counts as null wherever a struct around it is.
 */
export interface ColumnStatistics {
  readonly nullCount: number
  /** No value that is neither null nor NaN is below; absent when there is no such value or nothing is known. */
  readonly min?: Scalar
  /** No value that is neither null nor NaN is above. */
  readonly max?: Scalar
  /** Whether there is a NaN; absent where there cannot be one. */
  readonly hasNaN?: boolean
  /** False when `min` was cut short, and may thus be below every value. */
  readonly minExact?: boolean
  /** False when `max` was cut short and rounded up, and is thus above every value. */
  readonly maxExact?: boolean
}
