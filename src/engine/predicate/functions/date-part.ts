import { type DataType, TimeUnit, timestamp } from '@uwdata/flechette'
import { dateFromDays, daysFromDate, floorDiv, unitNanoseconds } from '../../arrow/time/calendar.ts'
import { zoneOffset, zoneSeconds } from '../../arrow/time/zone.ts'
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

/** A part of a time, from its days since 1970-01-01, the second of the day, and the nanosecond of the second. */
type Part = (days: number, second: number, nanosecond: number) => number

const dateParts: Record<string, Part> = {
  year: (days) => dateFromDays(days).year,
  isoyear: (days) => isoWeek(days).year,
  quarter: (days) => Math.ceil(dateFromDays(days).month / 3),
  month: (days) => dateFromDays(days).month,
  week: (days) => isoWeek(days).week,
  day: (days) => dateFromDays(days).day,
  doy: (days) => days - daysFromDate(dateFromDays(days).year, 1, 1) + 1,
  dow: (days) => weekday(days) % 7,
  isodow: weekday,
}

const timeParts: Record<string, Part> = {
  hour: (_, second) => Math.floor(second / 3_600),
  minute: (_, second) => Math.floor(second / 60) % 60,
  second: (_, second) => second % 60,
  millisecond: (_, second, nanosecond) => (second % 60) * 1e3 + Math.floor(nanosecond / 1e6),
  microsecond: (_, second, nanosecond) => (second % 60) * 1e6 + Math.floor(nanosecond / 1e3),
  nanosecond: (_, second, nanosecond) => (second % 60) * 1e9 + nanosecond,
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
function weekday(days: number): number {
  return ((((days + 3) % 7) + 7) % 7) + 1
}

/** The week of ISO 8601, and the year it belongs to. */
function isoWeek(days: number): { year: number; week: number } {
  const thursday = days + 4 - weekday(days)
  const { year } = dateFromDays(thursday)
  return { year, week: Math.floor((thursday - daysFromDate(year, 1, 1)) / 7) + 1 }
}

/** A field of a date or a time, by name. */
export const datePart: FunctionPlanner = (call) => {
  expectArguments(call, 2)
  const part = partName(call)
  const arg = call.args[1]!
  const plan = isText(arg.type) ? cast(call.scope, arg, timestamp(TimeUnit.NANOSECOND), call.at) : arg
  const { type } = plan
  const picks = clockOf(type)
  if (!picks) throw wrongType(call, 1, 'a date, a time or a timestamp')
  if (part === 'epoch') {
    // One division, for the most exact fraction.
    const inSecond = type.typeId === Type.Duration ? 0 : Number(instant(type, 1)) / 1e9
    const epoch = (value: number | bigint) =>
      inSecond >= 1 ? Number(value) * inSecond : Number(value) / Math.round(1 / inSecond)
    return strictCall(call, double, [plan], epoch, undefined, epoch)
  }
  const pick = Object.hasOwn(timeParts, part) ? timeParts[part]! : isTime(type) ? undefined : dateParts[part]!
  if (!pick || isDuration(type)) throw wrongType(call, 1, 'a date or a timestamp')
  const { evaluate, ofNumbers } = picks(pick)
  if (part === 'nanosecond') {
    const nanosecond = (value: number | bigint) => BigInt(evaluate(value))
    return strictCall(call, long, [plan], nanosecond, undefined, ofNumbers)
  }
  const step = stepOf(part, type)
  // Times in seconds reach years that are too large for the result.
  const isSeconds = type.typeId === Type.Timestamp && type.unit === TimeUnit.SECOND
  const rises = (part === 'year' || part === 'isoyear') && !isSeconds
  const kernel =
    step === undefined
      ? undefined
      : ({ kind: 'step', step, key: `${part} ${step} ${type.typeId}`, rises } as const)
  return strictCall(call, integer, [plan], evaluate, kernel, ofNumbers)
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

/** How to compute a part of values of a type, in their zone; undefined for types without a clock. */
function clockOf(type: DataType) {
  if (!isDate(type) && !isTime(type) && type.typeId !== Type.Timestamp) return undefined
  const zone = type.typeId === Type.Timestamp ? type.timezone : null
  const offset = zone === null ? undefined : zoneOffset(zone)
  return (pick: Part) => ({
    evaluate: (value: number | bigint): number => {
      const utc = instant(type, value)
      const local = offset ? utc + offset(utc) : utc
      const seconds = floorDiv(local, second)
      const days = floorDiv(seconds, secondsOfDay)
      return pick(Number(days), Number(seconds - days * secondsOfDay), Number(local - seconds * second))
    },
    ofNumbers: ofNumbers(type, zone, pick),
  })
}

const second = 1_000_000_000n
const secondsOfDay = 86_400n

function ofNumbers(type: DataType, zone: string | null, pick: Part): (value: number) => number {
  if (type.typeId === Type.Date && type.unit === 0) return (days) => pick(days, 0, 0)
  const unit = Number(instant(type, 1))
  const perSecond = 1e9 / unit
  const ahead = zone === null ? undefined : zoneSeconds(zone)
  return (value) => {
    const utc = Math.floor(value / perSecond)
    const seconds = ahead === undefined ? utc : utc + ahead(utc)
    const days = Math.floor(seconds / 86_400)
    return pick(days, seconds - days * 86_400, (value - utc * perSecond) * unit)
  }
}
