import { type DataType, TimeUnit, Type } from '@uwdata/flechette'
import { unitNanoseconds } from '../../arrow/time/calendar.ts'
import { fixedOffset } from '../../arrow/time/zone.ts'
import { dayOf } from '../cast/from-time.ts'
import { compareScalars, flipped, isLong } from '../evaluate/scalar.ts'
import { fold, isLiteral } from './fold.ts'
import { literal } from './literals.ts'
import type { CompareOperator, LiteralPlan, NonNullScalar, Plan, Scalar } from './plan.ts'
import { boolean, integerRange, isDate, isText, isTimestamp } from './types.ts'

/**
 * Rewrites `CAST(x AS type) <op> literal` to a comparison of x itself, if the literal is also a value of x's type. Then
 * x need not be cast for each row, and the cast cannot fail. Returns x and the literal of its type.
 *
 * Source: DataFusion's `unwrap_cast` rule, which also determines the result if a cast fails or is lossy. It removes one
 * cast in each of `turns` simplifications.
 */
export function unwrapped(
  operator: CompareOperator,
  plan: Plan,
  value: LiteralPlan,
  turns: number,
): { readonly plan: Plan; readonly value: LiteralPlan } | undefined {
  if (turns === 0 || plan.kind !== 'cast' || value.value === null) return undefined
  const converted =
    isText(plan.type) && (operator === '=' || operator === '<>')
      ? integerIn(value.value as string, plan.arg.type)
      : valueIn(value.value, plan.type, plan.arg.type)
  if (converted === undefined) return undefined
  const inner = { plan: plan.arg, value: literal(plan.arg.type, converted) }
  return unwrapped(operator, inner.plan, inner.value, turns - 1) ?? inner
}

/** As `unwrapped`, for several literals that are not texts: all of them, or none. */
export function unwrappedAll(
  plan: Plan,
  values: readonly Plan[],
  turns: number,
): { readonly plan: Plan; readonly values: readonly LiteralPlan[] } | undefined {
  if (turns === 0 || plan.kind !== 'cast') return undefined
  const literals: LiteralPlan[] = []
  for (const value of values) {
    if (!isLiteral(value)) return undefined
    const found = value.value === null ? null : valueIn(value.value, plan.type, plan.arg.type)
    if (found === undefined) return undefined
    literals.push(literal(plan.arg.type, found))
  }
  return unwrappedAll(plan.arg, literals, turns - 1) ?? { plan: plan.arg, values: literals }
}

/** The integer whose cast to text gives exactly this text, or the text itself; undefined if there is none. */
function integerIn(written: string, type: DataType): NonNullScalar | undefined {
  if (isText(type)) return written
  return type.typeId === Type.Int && /^(?:0|-?[1-9]\d{0,19})$/.test(written)
    ? fitted(BigInt(written), type)
    : undefined
}

/** Converts a value from one type to the other; undefined if that has no equal value, or counts something else. */
function valueIn(value: NonNullScalar, from: DataType, to: DataType): NonNullScalar | undefined {
  if (from.typeId === Type.Timestamp && to.typeId === Type.Timestamp) {
    // Adding a zone changes a time. All other casts only change the unit.
    if (from.timezone !== null && from.timezone !== to.timezone) return undefined
    const nanoseconds = (value as bigint) * unitNanoseconds[from.unit]
    return fitted(nanoseconds / unitNanoseconds[to.unit], to)
  }
  // A cast between dates and timestamps converts days to ticks, and does not keep the number.
  if (isMoment(from) && isMoment(to)) return undefined
  const scale = decimalsOf(from)
  const target = decimalsOf(to)
  if (scale === undefined || target === undefined) return undefined
  const unscaled = BigInt(value as number | bigint) * 10n ** BigInt(target)
  const divisor = 10n ** BigInt(scale)
  return unscaled % divisor === 0n ? fitted(unscaled / divisor, to) : undefined
}

function isMoment(type: DataType): boolean {
  return isDate(type) || isTimestamp(type)
}

/** The decimals of a type in numeric casts; undefined for types that have none. */
function decimalsOf(type: DataType): number | undefined {
  switch (type.typeId) {
    case Type.Int:
    case Type.Timestamp:
    case Type.Date:
      return 0
    case Type.Decimal:
      return type.scale >= 0 && type.bitWidth <= 128 ? type.scale : undefined
    default:
      return undefined
  }
}

/** A number in the form of a type; undefined if it is out of range. */
function fitted(value: bigint, type: DataType): NonNullScalar | undefined {
  switch (type.typeId) {
    case Type.Decimal: {
      const limit = 10n ** BigInt(type.precision)
      return value < limit && value > -limit ? value : undefined
    }
    case Type.Int: {
      const [low, high] = integerRange(type)
      if (value < low || value > high) return undefined
      return type.bitWidth === 64 ? value : Number(value)
    }
    case Type.Date:
      if (type.unit === 0) return BigInt.asIntN(32, value) === value ? Number(value) : undefined
      break
  }
  return BigInt.asIntN(64, value) === value ? value : undefined
}

/**
 * Converts a comparison of a monotonic function of time, such as `date_trunc('month', t) = TIMESTAMP '2024-03-01'`, to
 * a range of the time itself. A row then takes a comparison, and statistics can exclude fragments. Undefined for other
 * comparisons.
 */
export function timeRange(operator: CompareOperator, left: Plan, right: Plan): Plan | undefined {
  if (left.kind === 'literal') {
    return right.kind === 'literal' ? undefined : timeRange(flipped[operator], right, left)
  }
  if (right.kind !== 'literal' || right.value === null) return undefined
  const rising = risingOf(left)
  if (!rising) return undefined
  const { arg } = rising
  const compared = (part: CompareOperator, bound: LiteralPlan): Plan =>
    timeRange(part, arg, bound) ??
    fold({ kind: 'compare', type: boolean, operator: part, left: arg, right: bound })
  const reached = () => firstOf(rising, (value) => compareScalars(value, right.value) >= 0)
  const passed = () => firstOf(rising, (value) => compareScalars(value, right.value) > 0)
  switch (operator) {
    case '>=':
      return compared('>=', reached())
    case '<':
      return compared('<', reached())
    case '>':
      return compared('>=', passed())
    case '<=':
      return compared('<', passed())
  }
  // Both bounds evaluate the time, which must be cheap.
  if (arg.kind !== 'column') return undefined
  return operator === '='
    ? { kind: 'and', type: boolean, args: [compared('>=', reached()), compared('<', passed())] }
    : { kind: 'or', type: boolean, args: [compared('<', reached()), compared('>=', passed())] }
}

/** A function of a time that never decreases for a later one. */
interface Rising {
  readonly arg: Plan
  readonly evaluate: (time: Scalar) => Scalar
}

function risingOf(plan: Plan): Rising | undefined {
  if (plan.kind === 'call') {
    const { kernel, evaluate } = plan.function
    return kernel?.kind === 'step' && kernel.rises ? { arg: plan.args[0]!, evaluate } : undefined
  }
  if (plan.kind !== 'cast' || plan.type.typeId !== Type.Date || plan.type.unit !== 0) return undefined
  const { arg } = plan
  if (arg.type.typeId !== Type.Timestamp) return undefined
  const { timezone, unit } = arg.type
  // For a day that no date has, TRY_CAST returns NULL.
  if (plan.orNull && unit < TimeUnit.MICROSECOND) return undefined
  // If a clock is set back over midnight, a day repeats.
  if (timezone !== null && fixedOffset(timezone) === undefined) return undefined
  const day = dayOf(arg.type)
  return { arg, evaluate: (time) => Number(day(time as bigint)) }
}

/** The first time for whose result a condition is true; one past the last time if there is none. */
function firstOf({ arg: { type }, evaluate }: Rising, holds: (result: Scalar) => boolean): LiteralPlan {
  const ofType = (time: bigint) => (isLong(type) ? time : Number(time))
  const bits = isLong(type) ? 63n : 31n
  let low = -(2n ** bits)
  let high = 2n ** bits
  while (low < high) {
    const middle = (low + high) >> 1n
    if (holds(evaluate(ofType(middle)))) high = middle
    else low = middle + 1n
  }
  return { kind: 'literal', type, value: ofType(low) }
}
