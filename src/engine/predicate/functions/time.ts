import { dateDay, type TimestampType, TimeUnit, timestamp } from '@uwdata/flechette'
import {
  type Clock,
  checkedDays,
  clockAt,
  dateFromDays,
  daysFromDate,
  floorDiv,
  nanosecondsAt,
  unitNanoseconds,
} from '../../arrow/time/calendar.ts'
import { utcFromLocal, zoneOffset } from '../../arrow/time/zone.ts'
import { excerpt } from '../errors.ts'
import { literal } from '../plan/literals.ts'
import type { Plan } from '../plan/plan.ts'
import { cast, refuse } from '../plan/scope.ts'
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
import {
  badValue,
  type Call,
  constantArgument,
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

/** Nanoseconds of the units of fixed length. */
const lengths: Record<string, bigint> = {
  microsecond: 1_000n,
  millisecond: 1_000_000n,
  second: 1_000_000_000n,
  minute: 60_000_000_000n,
  hour: 3_600_000_000_000n,
  day: 86_400_000_000_000n,
}

const midnight = { hour: 0, minute: 0, second: 0, nanosecond: 0 }

const starts: Record<string, (clock: Clock) => Clock> = {
  week: (clock) => ({ ...dateFromDays(mondayOf(clock)), ...midnight }),
  month: ({ year, month }) => ({ year, month, day: 1, ...midnight }),
  quarter: ({ year, month }) => ({ year, month: Math.floor((month - 1) / 3) * 3 + 1, day: 1, ...midnight }),
  year: ({ year }) => ({ year, month: 1, day: 1, ...midnight }),
}

function mondayOf({ year, month, day }: Clock): number {
  const days = daysFromDate(year, month, day)
  return days - ((((days + 3) % 7) + 7) % 7)
}

/** The start of the unit that contains a timestamp. */
const dateTrunc: FunctionPlanner = (call) => {
  expectArguments(call, 2)
  const cut = truncation(call)
  const arg = call.args[1]!
  if (arg.type.typeId === Type.Time) return truncateTime(call, arg, cut.length)
  const plan =
    isText(arg.type) || isDate(arg.type) || isNull(arg.type)
      ? cast(call.scope, arg, timestamp(TimeUnit.NANOSECOND), call.at)
      : arg
  if (plan.type.typeId !== Type.Timestamp) throw wrongType(call, 1, 'a date, a time or a timestamp')
  return truncateTimestamp(call, plan, plan.type, cut)
}

interface Truncation {
  /** The start of the unit, of a local time in nanoseconds. */
  readonly start: (local: bigint) => bigint
  /** The length of the unit, if it is fixed. */
  readonly length: bigint | undefined
}

function truncation(call: Call): Truncation {
  const name = constantArgument(call, 0)
  const unit = typeof name === 'string' ? name.toLowerCase() : ''
  if (Object.hasOwn(lengths, unit)) {
    const length = lengths[unit]!
    return { length, start: (local) => floorDiv(local, length) * length }
  }
  if (Object.hasOwn(starts, unit)) {
    const start = starts[unit]!
    return { length: undefined, start: (local) => nanosecondsAt(start(clockAt(local))) }
  }
  const units = [...Object.keys(lengths), ...Object.keys(starts)].join(', ')
  throw refuse(call.scope, call.at, `the unit ${excerpt(String(name))} of time`, `Use one of ${units}.`)
}

function truncateTimestamp(call: Call, plan: Plan, type: TimestampType, { start, length }: Truncation): Plan {
  const size = unitNanoseconds[type.unit]
  const offset = type.timezone === null ? undefined : zoneOffset(type.timezone)
  if (!offset) {
    const cut = (value: bigint) => floorDiv(start(value * size), size)
    // Units of variable length consist of days.
    const step = (length ?? lengths['day']!) / size
    return strictCall(call, type, [plan], cut, step > 1n ? { kind: 'step', step, rises: true } : undefined)
  }
  return strictCall(call, type, [plan], (value: bigint) => {
    const utc = value * size
    const ahead = offset(utc)
    const local = start(utc + ahead)
    // If a local time occurs twice, the result has the same UTC offset as the given time.
    const cut = offset(local - ahead) === ahead ? local - ahead : utcFromLocal(offset, local)
    if (cut === undefined)
      throw badValue(call, 'a time that the zone does not have once', 'Leave such rows out.')
    return floorDiv(cut, size)
  })
}

function truncateTime(call: Call, plan: Plan, length: bigint | undefined): Plan {
  if (plan.type.typeId !== Type.Time || length === undefined || length === lengths['day']) {
    throw wrongType(call, 1, 'a date or a timestamp')
  }
  const { unit, bitWidth } = plan.type
  const steps = length / unitNanoseconds[unit]
  return strictCall(call, plan.type, [plan], (value: number | bigint) => {
    if (steps <= 1n) return value
    const cut = (BigInt(value) / steps) * steps
    return bitWidth === 32 ? Number(cut) : cut
  })
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
