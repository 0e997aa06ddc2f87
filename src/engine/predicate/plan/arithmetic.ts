import { type DataType, duration, type TimestampType, TimeUnit, Type, timestamp } from '@uwdata/flechette'
import { hasCalendar } from '../cast/from-text.ts'
import { rowError } from '../errors.ts'
import type { ArithmeticOperator, ShiftOperator } from '../syntax/syntax.ts'
import { numericType } from './coerce.ts'
import { decimalArithmetic, negateDecimal } from './decimal-arithmetic.ts'
import { fold } from './fold.ts'
import type { OfNumbers, Plan, Scalar } from './plan.ts'
import { cast, refuse, type Scope } from './scope.ts'
import {
  integerType,
  isDate,
  isDecimal,
  isDuration,
  isFloat,
  isInteger,
  isNull,
  isNumeric,
  isTimestamp,
  long,
  sameType,
  typeName,
} from './types.ts'

/** `left operator right` on numbers, dates or times, as far as it is defined for them. */
export function arithmeticPlan(
  scope: Scope,
  operator: ArithmeticOperator,
  left: Plan,
  right: Plan,
  at: number,
): Plan {
  const a = withoutNull(scope, left, right.type, at)
  const b = withoutNull(scope, right, left.type, at)
  const type = arithmeticType(a.type, b.type)
  if (type && !isDecimal(type)) {
    const sides = { left: cast(scope, a, type, at), right: cast(scope, b, type, at) }
    return fold({ kind: 'arithmetic', type, operator, ...sides, at })
  }
  const plan = type ? decimalArithmetic(scope, operator, a, b, at) : timeArithmetic(scope, operator, a, b, at)
  if (plan) return fold(plan)
  const problem = `${operator} between ${typeName(left.type)} and ${typeName(right.type)}`
  throw refuse(
    scope,
    at,
    problem,
    'Arithmetic takes numbers, and dates and timestamps where it has a meaning.',
  )
}

/** A NULL literal takes the other side's type. */
function withoutNull(scope: Scope, plan: Plan, other: DataType, at: number): Plan {
  if (!isNull(plan.type)) return plan
  return cast(scope, plan, isNull(other) ? long : other, at)
}

/** The type in which two numbers are computed; undefined if one of them is not a number. */
function arithmeticType(a: DataType, b: DataType): DataType | undefined {
  if (!isNumeric(a) || !isNumeric(b)) return undefined
  // Unlike in comparisons, a float and a decimal are computed as floats here.
  if (isFloat(a) && isDecimal(b)) return a
  if (isDecimal(a) && isFloat(b)) return b
  return numericType(a, b)
}

/** `-arg`. */
export function negatePlan(scope: Scope, arg: Plan, at: number): Plan {
  const { type } = arg
  if (isNull(type)) return arg
  if (isDecimal(type)) return fold(negateDecimal(arg, at))
  if (isFloat(type) || (type.typeId === Type.Int && type.signed))
    return fold({ kind: 'negate', type, arg, at })
  const problem = `the negative of a value of type ${typeName(type)}`
  throw refuse(scope, at, problem, 'Only signed numbers have one; CAST the value to BIGINT or DOUBLE.')
}

const dayMilliseconds = 86_400_000n
const dayNanoseconds = dayMilliseconds * 1_000_000n

/** Arithmetic on dates, timestamps and durations; undefined if not defined for the types. */
function timeArithmetic(
  scope: Scope,
  operator: ArithmeticOperator,
  left: Plan,
  right: Plan,
  at: number,
): Plan | undefined {
  if (operator !== '+' && operator !== '-') return undefined
  const a = left.type
  const b = right.type
  if (operator === '-' && isDate(a) && isDate(b)) return dateDifference(left, right, at)
  if (isDate(a) && isInteger(b)) return moveDate(left, cast(scope, right, long, at), operator, at)
  if (isInteger(a) && isDate(b) && operator === '+')
    return moveDate(right, cast(scope, left, long, at), '+', at)
  if (a.typeId === Type.Timestamp && isDuration(b)) {
    return longPlan(operator, a, left, cast(scope, right, duration(a.unit), at), at)
  }
  if (isDuration(a) && b.typeId === Type.Timestamp && operator === '+') {
    return longPlan('+', b, right, cast(scope, left, duration(b.unit), at), at)
  }
  if (isDuration(a) && sameType(a, b)) return longPlan(operator, a, left, right, at)
  if (operator !== '-') return undefined
  // Instants of one unit are subtracted, whatever their zones are.
  if (a.typeId === Type.Timestamp && b.typeId === Type.Timestamp && a.unit === b.unit)
    return longPlan('-', duration(a.unit), left, right, at)
  const type = pointInTime(a, b)
  if (!type) return undefined
  return longPlan('-', duration(type.unit), cast(scope, left, type, at), cast(scope, right, type, at), at)
}

/** The common timestamp type for subtracting two points in time; undefined if they cannot be subtracted. */
function pointInTime(a: DataType, b: DataType): TimestampType | undefined {
  if (a.typeId === Type.Timestamp && b.typeId === Type.Timestamp) {
    if (a.timezone !== null && b.timezone !== null && a.timezone !== b.timezone) return undefined
    return timestamp(Math.min(a.unit, b.unit) as typeof a.unit, a.timezone ?? b.timezone)
  }
  if ((isDate(a) && isTimestamp(b)) || (isTimestamp(a) && isDate(b))) return timestamp(TimeUnit.NANOSECOND)
  return undefined
}

function longPlan(operator: '+' | '-', type: DataType, left: Plan, right: Plan, at: number): Plan {
  const sign = operator === '+' ? 1n : -1n
  const evaluate = (a: Scalar, b: Scalar) => BigInt.asIntN(64, (a as bigint) + sign * (b as bigint))
  const ofNumbers = operator === '+' ? (a: number, b: number) => a + b : (a: number, b: number) => a - b
  return call(`time ${operator}`, type, [left, right], evaluate, at, ofNumbers)
}

function dateDifference(left: Plan, right: Plan, at: number): Plan {
  const time = (value: Scalar) =>
    typeof value === 'bigint' ? value : BigInt(value as number) * dayMilliseconds
  const evaluate = (a: Scalar, b: Scalar) => (time(a) - time(b)) / dayMilliseconds
  const areDays = [left, right].every(({ type }) => type.typeId === Type.Date && type.unit === 0)
  const ofNumbers = areDays ? (a: number, b: number) => a - b : undefined
  return call('date -', long, [left, right], evaluate, at, ofNumbers)
}

/** Days before and after 1970-01-01 that every calendar has. */
const fewDays = 10_000_000

function moveDate(date: Plan, days: Plan, operator: '+' | '-', at: number): Plan {
  const sign = operator === '+' ? 1n : -1n
  const evaluate = (value: Scalar, count: Scalar): Scalar => {
    // A 64-bit date loses its time of day.
    const from = typeof value === 'bigint' ? value / dayMilliseconds : BigInt(value as number)
    const moved = from + sign * (count as bigint)
    if (!hasCalendar(from * dayNanoseconds) || !hasCalendar(moved * dayNanoseconds)) {
      const problem = `a date ${count} days from day ${from} of 1970, which no calendar has,`
      throw rowError(at, problem, 'Leave out such rows.')
    }
    return typeof value === 'bigint' ? moved * dayMilliseconds : Number(moved)
  }
  const isDay = date.type.typeId === Type.Date && date.type.unit === 0
  const step = operator === '+' ? 1 : -1
  const ofNumbers = (from: number, count: number) => {
    const moved = from + step * count
    return Math.abs(from) < fewDays && Math.abs(moved) < fewDays ? moved : undefined
  }
  return call(`date ${operator}`, date.type, [date, days], evaluate, at, isDay ? ofNumbers : undefined)
}

function call(
  name: string,
  type: DataType,
  args: readonly Plan[],
  evaluate: (a: Scalar, b: Scalar) => Scalar,
  at: number,
  ofNumbers?: OfNumbers,
): Plan {
  const strict = (a: Scalar = null, b: Scalar = null) => evaluate(a, b)
  return { kind: 'call', type, function: { name, strict: true, evaluate: strict, ofNumbers }, args, at }
}

/**
 * `left << right` and `left >> right`. The count is taken modulo the bits of the type, and a right shift keeps the
 * sign. Source: `arrow_arith::bitwise`.
 */
export function shiftPlan(scope: Scope, operator: ShiftOperator, left: Plan, right: Plan, at: number): Plan {
  const type = shiftType(left.type, right.type)
  if (type?.typeId !== Type.Int) {
    const problem = `${operator} between ${typeName(left.type)} and ${typeName(right.type)}`
    throw refuse(scope, at, problem, 'It moves the bits of a whole number, by a whole number.')
  }
  const { bitWidth, signed } = type
  const fit = signed ? BigInt.asIntN : BigInt.asUintN
  const evaluate = (value: Scalar = null, count: Scalar = null): Scalar => {
    const bits = BigInt.asUintN(64, BigInt(count as number | bigint)) % BigInt(bitWidth)
    const whole = BigInt(value as number | bigint)
    const moved = fit(bitWidth, operator === '<<' ? whole << bits : whole >> bits)
    return bitWidth === 64 ? moved : Number(moved)
  }
  const args = [cast(scope, left, type, at), cast(scope, right, type, at)]
  return fold({ kind: 'call', type, function: { name: operator, strict: true, evaluate }, args, at })
}

/**
 * The common type of both sides of a shift, if any. Source: `bitwise_coercion` of DataFusion 54, as observed from
 * outside.
 */
function shiftType(a: DataType, b: DataType): DataType | undefined {
  if (isNull(a) || isNull(b)) return isInteger(a) ? a : isInteger(b) ? b : undefined
  if (!isNumeric(a) || !isNumeric(b)) return undefined
  if (sameType(a, b)) return isInteger(a) ? a : undefined
  const [left, right] = [bitsOf(a), bitsOf(b)]
  const width = Math.max(left.width, right.width)
  if (width === 0) return undefined
  const unsigned = Math.max(left.signed ? 0 : left.width, right.signed ? 0 : right.width)
  const signed = Math.max(left.signed ? left.width : 0, right.signed ? right.width : 0)
  // Of a float or a decimal beside a whole number, only the whole part counts.
  if (unsigned === 64 || signed === 0) return integerType(false, width as 8 | 16 | 32 | 64)
  return integerType(true, (unsigned >= signed ? unsigned * 2 : signed) as 8 | 16 | 32 | 64)
}

function bitsOf(type: DataType): { readonly width: number; readonly signed: boolean } {
  return type.typeId === Type.Int ? { width: type.bitWidth, signed: type.signed } : { width: 0, signed: true }
}
