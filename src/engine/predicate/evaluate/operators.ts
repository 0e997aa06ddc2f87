import type { CompareOperator } from '../plan/plan.ts'

/** The operator that says of `(b, a)` what the given one says of `(a, b)`. */
export const flipped = { '=': '=', '<>': '<>', '<': '>', '<=': '>=', '>': '<', '>=': '<=' } as const

/** What an operator says of an order: negative, zero or positive. */
export const holdsFor: Readonly<Record<CompareOperator, (order: number) => boolean>> = {
  '=': (order) => order === 0,
  '<>': (order) => order !== 0,
  '<': (order) => order < 0,
  '<=': (order) => order <= 0,
  '>': (order) => order > 0,
  '>=': (order) => order >= 0,
}
