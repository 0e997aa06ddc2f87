import type { DataType } from '@uwdata/flechette'
import { comparisonType } from './coerce.ts'
import { compare as compareValues, fold, isLiteral } from './fold.ts'
import { literal } from './literals.ts'
import type { CompareOperator, NonNullScalar, Plan, Scalar } from './plan.ts'
import { cast, looseCast, refuse, type Scope, settled } from './scope.ts'
import { timeRange } from './time-range.ts'
import { boolean, isBoolean, isNull, isReadable, itemType, typeName } from './types.ts'
import { unwrapped, unwrappedAll } from './unwrap.ts'

/** `left operator right`, both brought to the type they are compared in. */
export function comparePlan(
  scope: Scope,
  operator: CompareOperator,
  left: Plan,
  right: Plan,
  at: number,
): Plan {
  // Beside NULL every value will do, also one that cannot be looked into.
  if (isNull(left.type) || isNull(right.type)) return literal(boolean, null)
  const type = commonType(scope, left.type, right.type, at)
  const a = looseCast(scope, left, type, at)
  const b = looseCast(scope, right, type, at)
  if (isNullLiteral(a) || isNullLiteral(b)) return literal(boolean, null)
  if (itemType(type)) return compareLists(operator, settled(scope, a), settled(scope, b), at)
  const onRight = isLiteral(b) ? unwrapped(operator, a, b) : undefined
  const onLeft = isLiteral(a) ? unwrapped(operator, b, a) : undefined
  const sides = {
    left: settled(scope, onRight?.plan ?? onLeft?.value ?? a),
    right: settled(scope, onRight?.value ?? onLeft?.plan ?? b),
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

/** The type in which values are compared; an error when there is none. */
export function commonType(scope: Scope, left: DataType, right: DataType, at: number): DataType {
  const type = isReadable(left) && isReadable(right) ? comparisonType(left, right) : undefined
  if (type) return type
  const unreadable = isReadable(left) ? (isReadable(right) ? undefined : right) : left
  if (unreadable) throw lookInto(scope, unreadable, at)
  const problem = `a comparison of ${typeName(left)} with ${typeName(right)}`
  throw refuse(scope, at, problem, 'Compare values of the same kind, or CAST one to the type of the other.')
}

/** The error that the language cannot look into values of a type. */
export function lookInto(scope: Scope, type: DataType, at: number): Error {
  const who = scope.wanted === 'value' ? 'expressions' : 'predicates'
  const problem = `a value of type ${typeName(type)}, into which ${who} cannot look,`
  return refuse(scope, at, problem, 'Such a column can only be asked whether it IS NULL or IS NOT NULL.')
}

/** AND and OR, over conditions or NULL. */
export function logicPlan(scope: Scope, kind: 'and' | 'or', args: readonly Plan[], at: number): Plan {
  const conditions = args.map((arg) => condition(scope, arg, at, kind.toUpperCase()))
  return { kind, type: boolean, args: conditions }
}

/** A plan that is true, false or null; `user` says what needs it so. */
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
  // Of a condition whose bounds are one value the reference makes a comparison.
  const isOne = scope.wanted === 'condition' && !negated && isLiteral(first) && isLiteral(last)
  if (isOne && Object.is(first.value, last.value)) return comparePlan(scope, '=', arg, first, at)
  const inside = isShallow(arg, copiedDepth)
    ? fold({
        kind: negated ? 'or' : 'and',
        type: boolean,
        args: [
          comparePlan(scope, negated ? '<' : '>=', arg, first, at),
          comparePlan(scope, negated ? '>' : '<=', arg, last, at),
        ],
      })
    : betweenCall(unwrappedBetween(scope, arg, [first, last], type, at), negated, at)
  return inside
}

/** The value and the bounds of a BETWEEN, in one type. */
function unwrappedBetween(
  scope: Scope,
  arg: Plan,
  values: readonly Plan[],
  type: DataType,
  at: number,
): Plan[] {
  const given = looseCast(scope, arg, type, at)
  const inner = unwrappedAll(given, values)
  return inner ? [settled(scope, inner.plan), ...inner.values] : [settled(scope, given), ...values]
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

function betweenCall(args: readonly Plan[], negated: boolean, at: number): Plan {
  const evaluate = (value: Scalar = null, low: Scalar = null, high: Scalar = null): Scalar => {
    if (value === null) return null
    const above = low === null ? null : compareValues('>=', value, low)
    const below = high === null ? null : compareValues('<=', value, high)
    if (above === false || below === false) return negated
    return above === null || below === null ? null : !negated
  }
  return fold({
    kind: 'call',
    type: boolean,
    function: { name: 'between', strict: false, evaluate },
    args,
    at,
  })
}

/** `arg IN (items)`. */
export function inPlan(scope: Scope, arg: Plan, items: readonly Plan[], negated: boolean, at: number): Plan {
  let type = arg.type
  for (const item of items) type = commonType(scope, type, item.type, at)
  const all = items.map((item) => cast(scope, item, type, at))
  const given = looseCast(scope, arg, type, at)
  const [only] = all
  // Of a condition with one item the reference makes a comparison.
  const isAlone = scope.wanted === 'condition' && all.length === 1
  const alone = isAlone && isLiteral(only!) ? unwrapped('=', given, only) : undefined
  const { plan, values } = alone
    ? { plan: alone.plan, values: [alone.value] }
    : (unwrappedAll(given, all) ?? { plan: given, values: all })
  settled(scope, plan)
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
