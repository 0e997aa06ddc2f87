import type { AnyBatch } from '../../arrow/batch.ts'

/** Components between two checks of the clock; they take about a millisecond. */
export const componentsAtOnce = 1 << 20

/** Whether a vector has a null among its components. */
export function hasNullItem(items: AnyBatch, vector: number, dimension: number): boolean {
  for (let i = vector * dimension; i < (vector + 1) * dimension; i++) if (!items.isValid(i)) return true
  return false
}
