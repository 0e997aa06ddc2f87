import { type TimestampType, TimeUnit, timestamp } from '@uwdata/flechette'
import {
  type Clock,
  clockAt,
  dateFromDays,
  daysFromDate,
  floorDiv,
  nanosecondsAt,
  unitNanoseconds,
} from '../../arrow/time/calendar.ts'
import { utcFromLocal, zoneOffset } from '../../arrow/time/zone.ts'
import { excerpt } from '../errors.ts'
import type { Plan } from '../plan/plan.ts'
import { cast, refuse } from '../plan/scope.ts'
import { isDate, isNull, isText, Type } from '../plan/types.ts'
import {
  badValue,
  type Call,
  constantArgument,
  expectArguments,
  type FunctionPlanner,
  strictCall,
  wrongType,
} from './signature.ts'

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
export const dateTrunc: FunctionPlanner = (call) => {
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
