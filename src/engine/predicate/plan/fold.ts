import { fold as evaluate, operandsOf } from '../evaluate/fold.ts'
import { compareScalars } from '../evaluate/scalar.ts'
import type { CompareOperator, LiteralPlan, NonNullScalar, Plan, Scalar } from './plan.ts'

/**
 * Computes a plan that is the same for every row. Others are unchanged, since their arguments are already folded. A
 * failure becomes a plan that fails for each row that evaluates it: there may be none.
 */
export function fold(plan: Plan): Plan {
  if (plan.kind === 'column' || plan.kind === 'literal') return plan
  return operandsOf(plan).every(isLiteral) ? evaluate(plan) : plan
}

export function isLiteral(plan: Plan): plan is LiteralPlan {
  return plan.kind === 'literal'
}

/** Whether a comparison of two values that are not null holds. */
export function compare(operator: CompareOperator, a: NonNullScalar, b: NonNullScalar): boolean {
  const order = Array.isArray(a) ? orderLists(a, b as readonly Scalar[]) : compareScalars(a, b)
  switch (operator) {
    case '=':
      return order === 0
    case '<>':
      return order !== 0
    case '<':
      return order < 0
    case '<=':
      return order <= 0
    case '>':
      return order > 0
    default:
      return order >= 0
  }
}

/** Compares lists by their items, null before all others. */
function orderLists(a: readonly Scalar[], b: readonly Scalar[]): number {
  for (let i = 0; i < Math.min(a.length, b.length); i++) {
    const [x = null, y = null] = [a[i], b[i]]
    if (x === null || y === null) {
      if (x !== y) return x === null ? -1 : 1
      continue
    }
    const order = Array.isArray(x) ? orderLists(x, y as readonly Scalar[]) : compareScalars(x, y)
    if (order !== 0) return order
  }
  return a.length - b.length
}
