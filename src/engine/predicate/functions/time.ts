import { dateDay, TimeUnit, timestamp } from '@uwdata/flechette'
import { checkedDays } from '../../arrow/time/calendar.ts'
import { literal } from '../plan/literals.ts'
import type { Plan } from '../plan/plan.ts'
import { cast } from '../plan/scope.ts'
import {
  double,
  integer,
  isDate,
  isDecimal,
  isFloat,
  isInteger,
  isNull,
  isNumeric,
  isText,
  isTimestamp,
  long,
  Type,
} from '../plan/types.ts'
import { datePart } from './date-part.ts'
import { dateTrunc } from './date-trunc.ts'
import {
  badValue,
  conversion,
  expectArguments,
  type FunctionPlanner,
  integerArgument,
  strictCall,
  wrongType,
} from './signature.ts'

type Unit = 0 | 1 | 2 | 3

/** A timestamp from text, or from a number of `counted` units, which is cut to a whole one unless `fraction` is set. */
function toTimestamp(unit: Unit, counted: Unit, fraction = false): FunctionPlanner {
  const target = timestamp(unit)
  return (call) => {
    expectArguments(call, 1)
    const arg = call.args[0]!
    const { type } = arg
    const to = (plan: Plan) => conversion(call, plan, target)
    if (isInteger(type)) return to(conversion(call, arg, timestamp(counted)))
    if (isText(type) || isNull(type) || isTimestamp(type)) return to(arg)
    if (!isFloat(type) && !isDecimal(type)) throw wrongType(call, 0, 'a string, a timestamp or a number')
    if (!fraction) return to(conversion(call, conversion(call, arg, long), timestamp(counted)))
    const seconds = cast(call.scope, arg, double, call.at)
    return strictCall(call, target, [seconds], (value: number) => {
      const nanoseconds = Math.trunc(value * 1e9)
      if (!(Math.abs(nanoseconds) < 2 ** 63))
        throw badValue(call, `${value} seconds`, 'Give it seconds of the years 1678 to 2261.')
      return BigInt(nanoseconds)
    })
  }
}

const toDate: FunctionPlanner = (call) => {
  expectArguments(call, 1)
  const arg = call.args[0]!
  const { type } = arg
  if (isNumeric(type)) return conversion(call, conversion(call, arg, integer), dateDay())
  if (!isText(type) && !isTimestamp(type) && !isDate(type) && !isNull(type)) {
    throw wrongType(call, 0, 'a string, a timestamp or a number of days')
  }
  return conversion(call, arg, dateDay())
}

/** Whole seconds since 1970-01-01. */
const toUnixTime: FunctionPlanner = (call) => {
  expectArguments(call, 1)
  const arg = call.args[0]!
  const { type } = arg
  if (isInteger(type) || isFloat(type) || isNull(type)) return conversion(call, arg, long)
  if (!isText(type) && !isTimestamp(type) && !isDate(type)) {
    throw wrongType(call, 0, 'a string, a date or a timestamp')
  }
  const zone = type.typeId === Type.Timestamp ? type.timezone : null
  return conversion(call, conversion(call, arg, timestamp(TimeUnit.SECOND, zone)), long)
}

const fromUnixTime: FunctionPlanner = (call) => {
  expectArguments(call, 1)
  return conversion(call, integerArgument(call, 0), timestamp(TimeUnit.SECOND))
}

const makeDate: FunctionPlanner = (call) => {
  expectArguments(call, 3)
  const args = call.args.map((_, i) => integerArgument(call, i))
  return strictCall(call, dateDay(), args, (year: bigint, month: bigint, day: bigint) => {
    const days = checkedDays(Number(year), Number(month), Number(day))
    if (days === undefined || Math.abs(days) > 2 ** 31 - 1) {
      throw badValue(call, `${year}-${month}-${day}, which is no date,`, 'Leave such rows out.')
    }
    return days
  })
}

const now: FunctionPlanner = (call) => {
  expectArguments(call, 0)
  return literal(timestamp(TimeUnit.NANOSECOND), BigInt(Math.floor(call.scope.now())) * 1_000_000n)
}

const today: FunctionPlanner = (call) => {
  expectArguments(call, 0)
  return literal(dateDay(), Math.floor(call.scope.now() / 86_400_000))
}

export const timeFunctions: Record<string, FunctionPlanner> = {
  date_part: datePart,
  datepart: datePart,
  date_trunc: dateTrunc,
  datetrunc: dateTrunc,
  to_timestamp: toTimestamp(3, 0, true),
  to_timestamp_seconds: toTimestamp(0, 0),
  to_timestamp_millis: toTimestamp(1, 1),
  to_timestamp_micros: toTimestamp(2, 2),
  to_timestamp_nanos: toTimestamp(3, 3),
  to_date: toDate,
  to_unixtime: toUnixTime,
  from_unixtime: fromUnixTime,
  make_date: makeDate,
  now,
  current_timestamp: now,
  current_date: today,
  today,
}
