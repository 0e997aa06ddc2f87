import type { DataType } from '@uwdata/flechette'
import { comparisonType } from './coerce.ts'
import { compare as compareValues, fold, isLiteral } from './fold.ts'
import { literal } from './literals.ts'
import type { CastPlan, CompareOperator, NonNullScalar, Plan, Scalar } from './plan.ts'
import { timeRange, unwrapped, unwrappedAll } from './rewrite.ts'
import { cast, checkedCasts, looseCast, refuse, type Scope } from './scope.ts'
import { boolean, isBoolean, isNull, isReadable, itemType, typeName } from './types.ts'

/** How many times the reference simplifies a text. Each time it removes one cast beside a literal. */
const simplifyTurns = { value: 3, condition: 6 }

/** `left operator right`, both cast to the type in which they are compared. */
export function comparePlan(
  scope: Scope,
  operator: CompareOperator,
  left: Plan,
  right: Plan,
  at: number,
  turns = simplifyTurns[scope.wanted],
): Plan {
  // Beside NULL any value is accepted, also of a type that the language does not support.
  if (isNull(left.type) || isNull(right.type)) return literal(boolean, null)
  const type = commonType(scope, left.type, right.type, at)
  const a = looseCast(scope, left, type, at)
  const b = looseCast(scope, right, type, at)
  if (isNullLiteral(a) || isNullLiteral(b)) return literal(boolean, null)
  if (itemType(type)) return compareLists(operator, checkedCasts(scope, a), checkedCasts(scope, b), at)
  const onRight = isLiteral(b) ? unwrapped(operator, a, b, turns) : undefined
  const onLeft = isLiteral(a) ? unwrapped(operator, b, a, turns) : undefined
  const sides = {
    left: checkedCasts(scope, onRight?.plan ?? onLeft?.value ?? a),
    right: checkedCasts(scope, onRight?.value ?? onLeft?.plan ?? b),
  }
  const range = timeRange(operator, sides.left, sides.right)
  return range ?? fold({ kind: 'compare', type: boolean, operator, ...sides })
}

function isNullLiteral(plan: Plan): boolean {
  return isLiteral(plan) && plan.value === null
}

function compareLists(operator: CompareOperator, left: Plan, right: Plan, at: number): Plan {
  const evaluate = (a: Scalar = null, b: Scalar = null) => compareValues(operator, a!, b!)
  const { kind, type } = { kind: 'call', type: boolean } as const
  return fold({ kind, type, function: { name: operator, strict: true, evaluate }, args: [left, right], at })
}

/** The type in which values are compared; throws if there is none. */
export function commonType(scope: Scope, left: DataType, right: DataType, at: number): DataType {
  const type = isReadable(left) && isReadable(right) ? comparisonType(left, right) : undefined
  if (type) return type
  const unreadable = isReadable(left) ? (isReadable(right) ? undefined : right) : left
  if (unreadable) throw unsupportedType(scope, unreadable, at)
  const problem = `a comparison of ${typeName(left)} with ${typeName(right)}`
  throw refuse(scope, at, problem, 'Compare values of the same kind, or CAST one to the type of the other.')
}

/** The error for a type whose values the language cannot use. */
export function unsupportedType(scope: Scope, type: DataType, at: number): Error {
  const who = scope.wanted === 'value' ? 'expressions' : 'predicates'
  const problem = `a value of type ${typeName(type)}, into which ${who} cannot look,`
  return refuse(scope, at, problem, 'Such a column can only be asked whether it IS NULL or IS NOT NULL.')
}

/** AND and OR, over conditions or NULL. */
export function logicPlan(scope: Scope, kind: 'and' | 'or', args: readonly Plan[], at: number): Plan {
  const conditions = args.map((arg) => condition(scope, arg, at, kind.toUpperCase()))
  return { kind, type: boolean, args: conditions }
}

/** Accepts a plan that is true, false or null; `user` names the operator that requires it. */
export function condition(scope: Scope, plan: Plan, at: number, user: string): Plan {
  if (isBoolean(plan.type)) return plan
  if (isNull(plan.type)) return cast(scope, plan, boolean, at)
  const problem = `${user} over a value of type ${typeName(plan.type)}`
  throw refuse(scope, at, problem, 'Write a condition, such as a comparison or a bool column.')
}

/** How deep a plan can be and still be used twice: deeper ones would double at every level. */
const copiedDepth = 3

/** `arg BETWEEN low AND high`. */
export function betweenPlan(
  scope: Scope,
  arg: Plan,
  low: Plan,
  high: Plan,
  negated: boolean,
  at: number,
): Plan {
  if (isNull(low.type) && isNull(high.type)) return literal(boolean, null)
  const type = commonType(
    scope,
    commonType(scope, arg.type, low.type, at),
    commonType(scope, arg.type, high.type, at),
    at,
  )
  const [first, last] = [cast(scope, low, type, at), cast(scope, high, type, at)]
  // The reference uses the first simplification to split it into two comparisons.
  const turns = simplifyTurns[scope.wanted] - 1
  // In a condition, equal bounds become a single comparison.
  const isOne = scope.wanted === 'condition' && !negated && isLiteral(first) && isLiteral(last)
  if (isOne && Object.is(first.value, last.value)) return comparePlan(scope, '=', arg, first, at, turns)
  if (!isShallow(arg, copiedDepth))
    return betweenCall(scope, looseCast(scope, arg, type, at), [first, last], negated, turns, at)
  return fold({
    kind: negated ? 'or' : 'and',
    type: boolean,
    args: [
      comparePlan(scope, negated ? '<' : '>=', arg, first, at, turns),
      comparePlan(scope, negated ? '>' : '<=', arg, last, at, turns),
    ],
  })
}

function isShallow(plan: Plan, levels: number): boolean {
  if (levels === 0) return false
  switch (plan.kind) {
    case 'column':
    case 'literal':
      return true
    case 'cast':
    case 'negate':
      return isShallow(plan.arg, levels - 1)
    case 'arithmetic':
      return isShallow(plan.left, levels - 1) && isShallow(plan.right, levels - 1)
    case 'call':
      return plan.function.kernel?.kind === 'step' && isShallow(plan.args[0]!, levels - 1)
    default:
      return false
  }
}

/** A BETWEEN that computes its value once, even if only one bound can be compared without the cast. */
function betweenCall(
  scope: Scope,
  given: Plan,
  bounds: readonly [Plan, Plan],
  negated: boolean,
  turns: number,
  at: number,
): Plan {
  const isUnknown = bounds.every(isNullLiteral)
  const sides = bounds.map((value) => {
    const side = (isLiteral(value) ? unwrapped('<=', given, value, turns) : undefined) ?? {
      plan: given,
      value,
    }
    // Beside NULL an unsupported cast is not an error.
    return isNullLiteral(value) && !isUnknown ? side : { ...side, plan: checkedCasts(scope, side.plan) }
  })
  const plans = sides.filter(({ value }) => isUnknown || !isNullLiteral(value)).map(({ plan }) => plan)
  const inner = plans.reduce((one, other) => (castsOf(one).length <= castsOf(other).length ? one : other))
  const [forLow, forHigh] = sides.map(({ plan }) => castsOf(plan).slice(castsOf(inner).length)) as [
    CastPlan[],
    CastPlan[],
  ]
  const evaluate = (value: Scalar = null, low: Scalar = null, high: Scalar = null): Scalar => {
    if (value === null) return null
    const above = boundHolds('>=', value, forLow, low)
    const below = above === false ? false : boundHolds('<=', value, forHigh, high)
    if (above === false || below === false) return negated
    return above === null || below === null ? null : !negated
  }
  return fold({
    kind: 'call',
    type: boolean,
    function: { name: 'between', strict: false, evaluate },
    args: [inner, ...sides.map(({ value }) => value)],
    at,
  })
}

/** The outer casts of a plan, the innermost one first. */
function castsOf(plan: Plan): CastPlan[] {
  return plan.kind === 'cast' ? [...castsOf(plan.arg), plan] : []
}

function boundHolds(
  operator: '>=' | '<=',
  value: Scalar,
  casts: readonly CastPlan[],
  bound: Scalar,
): boolean | null {
  if (bound === null) return null
  let side = value
  for (const { convert } of casts) side = side === null ? null : convert(side)
  return side === null ? null : compareValues(operator, side, bound)
}

/** `arg IN (items)`. */
export function inPlan(scope: Scope, arg: Plan, items: readonly Plan[], negated: boolean, at: number): Plan {
  let type = arg.type
  for (const item of items) type = commonType(scope, type, item.type, at)
  const all = items.map((item) => cast(scope, item, type, at))
  const given = looseCast(scope, arg, type, at)
  const [only] = all
  // In a condition, a single item becomes a comparison.
  const turns = simplifyTurns[scope.wanted]
  const isAlone = scope.wanted === 'condition' && all.length === 1
  const alone = isAlone && isLiteral(only!) ? unwrapped('=', given, only, turns) : undefined
  const { plan: cut, values } = alone
    ? { plan: alone.plan, values: [alone.value] }
    : (unwrappedAll(given, all, turns) ?? { plan: given, values: all })
  const plan = checkedCasts(scope, cut)
  if (!values.every(isLiteral) || isLiteral(plan) || itemType(type)) return inCall(plan, values, negated, at)
  const known: NonNullScalar[] = []
  for (const { value } of values) if (value !== null) known.push(value)
  const hasNull = known.length < values.length
  return { kind: 'in', type: boolean, arg: plan, values: known, hasNull, negated }
}

function inCall(value: Plan, items: readonly Plan[], negated: boolean, at: number): Plan {
  const evaluate = (wanted: Scalar = null, ...values: Scalar[]): Scalar => {
    if (wanted === null) return null
    let unknown = false
    for (const item of values) {
      if (item === null) unknown = true
      else if (compareValues('=', wanted, item)) return !negated
    }
    return unknown ? null : negated
  }
  return fold({
    kind: 'call',
    type: boolean,
    function: { name: 'in', strict: false, evaluate },
    args: [value, ...items],
    at,
  })
}
