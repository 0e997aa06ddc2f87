import { type DataType, duration, type TimestampType, TimeUnit, Type, timestamp } from '@uwdata/flechette'
import { hasCalendar } from '../cast/parse.ts'
import { rowError } from '../errors.ts'
import type { ArithmeticOperator } from '../syntax/syntax.ts'
import type { OfNumbers, Plan, Scalar } from './plan.ts'
import { cast, type Scope } from './scope.ts'
import { isDate, isDuration, isInteger, isTimestamp, long, sameType } from './types.ts'

const dayMilliseconds = 86_400_000n
const dayNanoseconds = dayMilliseconds * 1_000_000n

/** Arithmetic on dates, timestamps and durations; undefined if not defined for the types. */
export function timeArithmetic(
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
