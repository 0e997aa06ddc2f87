import { type DataType, TimeUnit, timestamp } from '@uwdata/flechette'
import { type Clock, clockAt, daysFromDate, unitNanoseconds } from '../../arrow/time/calendar.ts'
import { zoneOffset } from '../../arrow/time/zone.ts'
import { excerpt } from '../errors.ts'
import { cast, refuse } from '../plan/scope.ts'
import { double, integer, isDate, isDuration, isText, isTime, long, Type } from '../plan/types.ts'
import {
  type Call,
  constantArgument,
  expectArguments,
  type FunctionPlanner,
  strictCall,
  wrongType,
} from './signature.ts'

type Part = (clock: Clock) => number

const dateParts: Record<string, Part> = {
  year: ({ year }) => year,
  isoyear: (clock) => isoWeek(clock).year,
  quarter: ({ month }) => Math.ceil(month / 3),
  month: ({ month }) => month,
  week: (clock) => isoWeek(clock).week,
  day: ({ day }) => day,
  doy: ({ year, month, day }) => daysFromDate(year, month, day) - daysFromDate(year, 1, 1) + 1,
  dow: (clock) => weekday(clock) % 7,
  isodow: weekday,
}

const timeParts: Record<string, Part> = {
  hour: ({ hour }) => hour,
  minute: ({ minute }) => minute,
  second: ({ second }) => second,
  millisecond: ({ second, nanosecond }) => second * 1e3 + Math.floor(nanosecond / 1e6),
  microsecond: ({ second, nanosecond }) => second * 1e6 + Math.floor(nanosecond / 1e3),
  nanosecond: ({ second, nanosecond }) => second * 1e9 + nanosecond,
}

const aliases: Record<string, string> = {
  years: 'year',
  y: 'year',
  yr: 'year',
  yrs: 'year',
  months: 'month',
  mon: 'month',
  mons: 'month',
  weeks: 'week',
  w: 'week',
  days: 'day',
  d: 'day',
  hours: 'hour',
  h: 'hour',
  hr: 'hour',
  hrs: 'hour',
  minutes: 'minute',
  m: 'minute',
  min: 'minute',
  mins: 'minute',
  seconds: 'second',
  s: 'second',
  sec: 'second',
  secs: 'second',
  milliseconds: 'millisecond',
  ms: 'millisecond',
  msec: 'millisecond',
  msecs: 'millisecond',
  microseconds: 'microsecond',
  us: 'microsecond',
  usec: 'microsecond',
  usecs: 'microsecond',
  nanoseconds: 'nanosecond',
  ns: 'nanosecond',
  nanosec: 'nanosecond',
  nanosecs: 'nanosecond',
}

/** The day of the week, from 1 for Monday. */
function weekday({ year, month, day }: Clock): number {
  return ((((daysFromDate(year, month, day) + 3) % 7) + 7) % 7) + 1
}

/** The week of ISO 8601, and the year it belongs to. */
function isoWeek(clock: Clock): { year: number; week: number } {
  const thursday = daysFromDate(clock.year, clock.month, clock.day) + 4 - weekday(clock)
  const { year } = clockAt(BigInt(thursday) * 86_400_000_000_000n)
  return { year, week: Math.floor((thursday - daysFromDate(year, 1, 1)) / 7) + 1 }
}

/** A field of a date or a time, by name. */
export const datePart: FunctionPlanner = (call) => {
  expectArguments(call, 2)
  const part = partName(call)
  const arg = call.args[1]!
  const plan = isText(arg.type) ? cast(call.scope, arg, timestamp(TimeUnit.NANOSECOND), call.at) : arg
  const { type } = plan
  const clock = clockOf(type)
  if (!clock) throw wrongType(call, 1, 'a date, a time or a timestamp')
  if (part === 'epoch') {
    // One division, for the most exact fraction.
    const inSecond = type.typeId === Type.Duration ? 0 : Number(instant(type, 1)) / 1e9
    return strictCall(call, double, [plan], (value: number | bigint) =>
      inSecond >= 1 ? Number(value) * inSecond : Number(value) / Math.round(1 / inSecond),
    )
  }
  const pick = Object.hasOwn(timeParts, part) ? timeParts[part]! : isTime(type) ? undefined : dateParts[part]!
  if (!pick || isDuration(type)) throw wrongType(call, 1, 'a date or a timestamp')
  if (part === 'nanosecond')
    return strictCall(call, long, [plan], (value: number | bigint) => BigInt(pick(clock(value))))
  const step = stepOf(part, type)
  // Times in seconds reach years that are too large for the result.
  const isSeconds = type.typeId === Type.Timestamp && type.unit === TimeUnit.SECOND
  const rises = (part === 'year' || part === 'isoyear') && !isSeconds
  return strictCall(
    call,
    integer,
    [plan],
    (value: number | bigint) => pick(clock(value)),
    step === undefined ? undefined : { kind: 'step', step, key: `${part} ${step} ${type.typeId}`, rises },
  )
}

/** The number of units for which a part of a date or timestamp is constant; undefined if that is of no use. */
function stepOf(part: string, type: DataType): bigint | undefined {
  const length = part === 'hour' ? hour : Object.hasOwn(dateParts, part) ? day : 0n
  const unit = unitOf(type)
  return length > 0n && unit !== undefined && length >= unit ? length / unit : undefined
}

const hour = 3_600_000_000_000n
const day = 24n * hour

/** Nanoseconds in a unit of a date, or of a timestamp that has no zone or is in UTC. */
function unitOf(type: DataType): bigint | undefined {
  if (isDate(type)) return type.typeId === Type.Date && type.unit === 0 ? day : 1_000_000n
  if (type.typeId !== Type.Timestamp || (type.timezone !== null && zoneOffset(type.timezone)))
    return undefined
  return unitNanoseconds[type.unit]
}

function partName(call: Call): string {
  const name = constantArgument(call, 0)
  const known = typeof name === 'string' ? name.toLowerCase() : ''
  const part = Object.hasOwn(aliases, known) ? aliases[known]! : known
  if (part === 'epoch' || Object.hasOwn(dateParts, part) || Object.hasOwn(timeParts, part)) return part
  const problem = `the part ${excerpt(String(name))} of a date`
  const names = [...Object.keys(dateParts), ...Object.keys(timeParts), 'epoch'].join(', ')
  throw refuse(call.scope, call.at, problem, `Use one of ${names}.`)
}

/** Nanoseconds since 1970-01-01, or since midnight. */
function instant(type: DataType, value: number | bigint): bigint {
  switch (type.typeId) {
    case Type.Date:
      return type.unit === 0 ? BigInt(value) * 86_400_000_000_000n : BigInt(value) * 1_000_000n
    case Type.Time:
    case Type.Timestamp:
      return BigInt(value) * unitNanoseconds[type.unit]
    default:
      return 0n
  }
}

/** A function that converts values of a type to clock fields in their zone; undefined for types without a clock. */
function clockOf(type: DataType): ((value: number | bigint) => Clock) | undefined {
  if (!isDate(type) && !isTime(type) && type.typeId !== Type.Timestamp) return undefined
  const zone = type.typeId === Type.Timestamp ? type.timezone : null
  const offset = zone === null ? undefined : zoneOffset(zone)
  return (value) => {
    const utc = instant(type, value)
    return clockAt(offset ? utc + offset(utc) : utc)
  }
}
