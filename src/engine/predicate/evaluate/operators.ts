import type { CompareOperator } from '../plan/plan.ts'

/** The operator with swapped operands: `flipped` of `a op b` compares `(b, a)`. */
export const flipped = { '=': '=', '<>': '<>', '<': '>', '<=': '>=', '>': '<', '>=': '<=' } as const

/** Whether an operator holds for an order: negative, zero or positive. */
export const holdsFor: Readonly<Record<CompareOperator, (order: number) => boolean>> = {
  '=': (order) => order === 0,
  '<>': (order) => order !== 0,
  '<': (order) => order < 0,
  '<=': (order) => order <= 0,
  '>': (order) => order > 0,
  '>=': (order) => order >= 0,
}
