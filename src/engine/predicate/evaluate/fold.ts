import { Type } from '@uwdata/flechette'
import { CatalogError } from '../../../base/errors.ts'
import { hasRow } from '../../arrow/bitmap.ts'
import type { CasePlan, ColumnPlan, LiteralPlan, Plan, Scalar } from '../plan/plan.ts'
import { kept, mapInSteps } from '../work.ts'
import { builder } from './build.ts'
import { Frame } from './frame.ts'
import { wantBoth } from './node.ts'
import { readerOf } from './read.ts'

/**
 * Computes every constant part of a plan, and removes needless nulls. A part that fails becomes a call that fails, so
 * that it fails only if a row needs it.
 */
export function fold(plan: Plan): Plan {
  return plan.kind === 'column' || plan.kind === 'literal' ? plan : foldOperands(plan, fold)
}

/** As `fold`, in steps: results for parts with many operands are kept while planning pauses. */
export function foldInSteps(plan: Plan): Plan {
  switch (plan.kind) {
    case 'column':
    case 'literal':
      return plan
    case 'and':
    case 'or':
    case 'call':
    case 'case':
      return kept(plan, () => foldOperands(plan, foldInSteps, mapInSteps))
    default:
      return foldOperands(plan, foldInSteps)
  }
}

const mapAtOnce: typeof mapInSteps = (items, make) => items.map(make)

function foldOperands(
  plan: Exclude<Plan, ColumnPlan | LiteralPlan>,
  foldPart: (plan: Plan) => Plan,
  map = mapAtOnce,
): Plan {
  switch (plan.kind) {
    case 'and':
    case 'or': {
      const args = joinEqualities(plan.kind, map(plan.args, foldPart))
      return args.length === 1 ? args[0]! : reduce({ ...plan, args }, args.length)
    }
    case 'call':
      return reduce({ ...plan, args: map(plan.args, foldPart) }, plan.args.length)
    case 'case':
      return foldCase(plan, foldPart, map)
    case 'compare':
    case 'arithmetic':
      return reduce({ ...plan, left: foldPart(plan.left), right: foldPart(plan.right) }, 2)
    default:
      return reduce({ ...plan, arg: foldPart(plan.arg) }, 1)
  }
}

/** Drops branches that are never taken, and those after one that is always taken. */
function foldCase(plan: CasePlan, foldPart: (plan: Plan) => Plan, map: typeof mapInSteps): Plan {
  const operand = plan.operand && foldPart(plan.operand)
  const folded = map(plan.branches, ({ when, result }) => ({
    when: foldPart(when),
    result: foldPart(result),
  }))
  const branches: { readonly when: Plan; readonly result: Plan }[] = []
  let otherwise = foldPart(plan.otherwise)
  for (const branch of folded) {
    if (isNullLiteral(branch.when)) continue
    if (operand === undefined && branch.when.kind === 'literal') {
      if (branch.when.value === false) continue
      otherwise = branch.result
      break
    }
    branches.push(branch)
  }
  if (branches.length === 0) return otherwise
  const kept: CasePlan = { ...plan, operand, branches, otherwise }
  return reduce(kept, branches.length)
}

function reduce(plan: Plan, operands: number): Plan {
  // A plan that is null for any values of the other operands does not evaluate them.
  if (isAlwaysNull(plan)) return { kind: 'literal', type: plan.type, value: null }
  if (operands === 0 || !operandsOf(plan).every((arg) => arg.kind === 'literal')) return plan
  if (plan.kind === 'and' || plan.kind === 'or') {
    return {
      kind: 'literal',
      type: plan.type,
      value: junction(plan.kind, plan.args as readonly LiteralPlan[]),
    }
  }
  try {
    return { kind: 'literal', type: plan.type, value: computed(plan) }
  } catch (error) {
    if (!(error instanceof CatalogError)) throw error
    const evaluate = (): Scalar => {
      throw error
    }
    return { kind: 'call', type: plan.type, at: 0, args: [], function: { name: '', strict: false, evaluate } }
  }
}

/** The result of AND or OR of constants. Programs write thousands of them. */
function junction(kind: 'and' | 'or', args: readonly LiteralPlan[]): boolean | null {
  const decides = kind === 'or'
  if (args.some(({ value }) => value === decides)) return decides
  return args.some(({ value }) => value === null) ? null : !decides
}

function isAlwaysNull(plan: Plan): boolean {
  switch (plan.kind) {
    case 'call':
      return plan.function.strict && plan.args.some(isNullLiteral)
    case 'like':
      return plan.pattern === null || isNullLiteral(plan.arg)
    case 'compare':
    case 'arithmetic':
    case 'negate':
    case 'cast':
    case 'in':
      return operandsOf(plan).some(isNullLiteral)
    default:
      return false
  }
}

function isNullLiteral(plan: Plan): boolean {
  return plan.kind === 'literal' && plan.value === null
}

/** The direct parts of a plan. */
export function operandsOf(plan: Plan): readonly Plan[] {
  switch (plan.kind) {
    case 'column':
    case 'literal':
      return []
    case 'and':
    case 'or':
    case 'call':
      return plan.args
    case 'case': {
      const parts = plan.branches.flatMap(({ when, result }) => [when, result])
      return [...(plan.operand ? [plan.operand] : []), ...parts, plan.otherwise]
    }
    case 'compare':
    case 'arithmetic':
      return [plan.left, plan.right]
    default:
      return [plan.arg]
  }
}

function computed(plan: Plan): Scalar {
  const build = builder([])
  const frame = new Frame()
  try {
    frame.moveTo({ length: 1, columns: [] }, 0, 1)
    const need = frame.allRows()
    if (plan.type.typeId !== Type.Bool) return readerOf(build.value(plan).vector(frame, need))(0)
    const yes = frame.bitmap()
    const no = frame.bitmap()
    build.test(plan).test(frame, need, wantBoth, yes, no)
    return hasRow(yes, 0) ? true : hasRow(no, 0) ? false : null
  } finally {
    frame.done()
  }
}

const fewest = 3

/**
 * Joins `a = 1 OR a = 2 OR a = 3` into one `IN`, and `a <> 1 AND a <> 2 AND a <> 3` into one `NOT IN`. Programs write
 * thousands of such operands, and this needs one pass over the column instead of one for each. Only neighbours are
 * joined, so that the order of operands is kept.
 */
function joinEqualities(kind: 'and' | 'or', args: readonly Plan[]): readonly Plan[] {
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
