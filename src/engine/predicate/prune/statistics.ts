import type { Scalar } from '../plan/plan.ts'

/**
 * What is known of all values of one column (or struct field) of a fragment without reading it. Includes deleted rows,
 * so bounds may be wider than the remaining values.
 *
 * Strings compare by code points, the order of their UTF-8 bytes (unlike JavaScript's `<`). A struct field counts as
 * null wherever a struct around it is.
 */
export interface ColumnStatistics {
  readonly nullCount: number
  /** No value that is neither null nor NaN is below; absent if there is no such value or nothing is known. */
  readonly min?: Scalar
  /** No value that is neither null nor NaN is above. */
  readonly max?: Scalar
  /** Whether there is a NaN; absent for types without NaN. */
  readonly hasNaN?: boolean
  /** False if `min` was truncated, and may be below every value. */
  readonly minExact?: boolean
  /** False if `max` was truncated and rounded up, and is above every value. */
  readonly maxExact?: boolean
}
