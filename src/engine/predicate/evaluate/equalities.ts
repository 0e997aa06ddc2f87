import type { ColumnPlan, Plan, Scalar } from '../plan/plan.ts'

const fewest = 3

/**
 * Joins `a = 1 OR a = 2 OR a = 3` into one `IN`, and `a <> 1 AND a <> 2 AND a <> 3` into one `NOT IN`. Programs write
 * thousands of such operands, and this needs one pass over the column instead of one for each. Only neighbours are
 * joined, so that the order of operands is kept.
 */
export function joinEqualities(kind: 'and' | 'or', args: readonly Plan[]): readonly Plan[] {
  if (args.length < fewest) return args
  const joined: Plan[] = []
  for (let i = 0; i < args.length; ) {
    const first = equality(kind, args[i]!)
    const values: Scalar[] = []
    let end = i
    while (first !== undefined && end < args.length) {
      const next = equality(kind, args[end]!)
      if (next === undefined || !isSamePath(first.column, next.column)) break
      values.push(next.value)
      end++
    }
    if (first === undefined || end - i < fewest) {
      joined.push(args[i]!)
      i++
    } else {
      const { type } = args[i]!
      joined.push({ kind: 'in', type, arg: first.column, values, hasNull: false, negated: kind === 'and' })
      i = end
    }
  }
  return joined
}

function equality(
  kind: 'and' | 'or',
  plan: Plan,
): { readonly column: ColumnPlan; readonly value: Scalar } | undefined {
  if (plan.kind !== 'compare' || plan.operator !== (kind === 'or' ? '=' : '<>')) return undefined
  const { left, right } = plan
  if (left.kind === 'column' && right.kind === 'literal') return { column: left, value: right.value }
  if (left.kind === 'literal' && right.kind === 'column') return { column: right, value: left.value }
  return undefined
}

function isSamePath(a: ColumnPlan, b: ColumnPlan): boolean {
  return a.path.length === b.path.length && a.path.every((index, i) => index === b.path[i])
}
