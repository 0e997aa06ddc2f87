import { type DataType, Type } from '@uwdata/flechette'
import { checkedDays, daysFromDate, unitNanoseconds } from '../../arrow/time/calendar.ts'
import { fixedOffset, utcFromLocal, zoneOffset } from '../../arrow/time/zone.ts'
import { integerType } from '../plan/types.ts'
import { type Convert, checkDigits, roundTo, toInteger } from './numbers.ts'

const encoder = new TextEncoder()

/** The converter from text to values of a type. */
export function fromText(to: DataType): Convert | undefined {
  const read = reader(to)
  return read && ((value) => read(value as string))
}

function reader(to: DataType): ((text: string) => ReturnType<Convert>) | undefined {
  switch (to.typeId) {
    case Type.Bool:
      return parseBoolean
    case Type.Int: {
      const fit = toInteger(to)
      return (text) => whenDefined(parseInteger(text), fit)
    }
    case Type.Float: {
      const round = roundTo(to)
      return (text) => whenDefined(parseFloat64(text), round)
    }
    case Type.Decimal: {
      const fit = checkDigits(to)
      return (text) => whenDefined(parseDecimal(text, to.scale), fit)
    }
    case Type.Binary:
      return (text) => encoder.encode(text)
    case Type.Date:
      if (to.unit === 0) return parseDate
      return (text) =>
        text.length > 10
          ? whenDefined(parseTimestamp(text), (nanoseconds) => toUnit(nanoseconds, 1))
          : whenDefined(parseDate(text), (days) => BigInt(days) * 86_400_000n)
    case Type.Time:
      return (text) => {
        const time = parseTime(text)
        return time === undefined ? countOf(text, to.bitWidth) : timeIn(time, to.unit, to.bitWidth)
      }
    case Type.Timestamp:
      return (text) =>
        whenDefined(parseTimestamp(text, to.timezone ?? undefined), (time) => long(toUnit(time, to.unit)))
    default:
      return undefined
  }
}

function timeIn(nanoseconds: bigint, unit: number, bitWidth: number): number | bigint {
  const value = nanoseconds / unitNanoseconds[unit as 0 | 1 | 2 | 3]
  return bitWidth === 32 ? Number(value) : value
}

/** A time written as a count of its units. */
function countOf(text: string, bitWidth: 32 | 64): number | bigint | undefined {
  return whenDefined(parseInteger(text), toInteger(integerType(true, bitWidth)))
}

/** A 64-bit integer; undefined if the value is not one. */
export function long(value: bigint): bigint | undefined {
  return BigInt.asIntN(64, value) === value ? value : undefined
}

function whenDefined<T, U>(value: T | undefined, use: (value: T) => U): U | undefined {
  return value === undefined ? undefined : use(value)
}

const day = 86_400_000_000_000n

/*
 * Values from text, as strict or as lenient as arrow-rs, whose `arrow_cast::parse` is the source.
 */

function parseBoolean(text: string): boolean | undefined {
  const word = text.trim().toLowerCase()
  if (/^(t|tr|tru|true|y|ye|yes|on|1)$/.test(word)) return true
  return /^(f|fa|fal|fals|false|n|no|of|off|0)$/.test(word) ? false : undefined
}

function parseInteger(text: string): bigint | undefined {
  return /^[+-]?\d+$/.test(text) && text.length < 100 ? BigInt(text.replace('+', '')) : undefined
}

function parseFloat64(text: string): number | undefined {
  const found = /^([+-]?)(?:(nan)|(inf(?:inity)?)|(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)$/i.exec(text)
  if (!found) return undefined
  if (found[2]) return Number.NaN
  if (found[3]) return found[1] === '-' ? -Infinity : Infinity
  return Number(text)
}

/** The years that a date may have: those of `chrono`, the reference's parser. */
const [firstYear, lastYear] = [-262_143, 262_142]
const [firstTime, lastTime] = [daysFromDate(firstYear, 1, 1), daysFromDate(lastYear + 1, 1, 1)].map(
  (days) => BigInt(days) * day,
) as [bigint, bigint]

/** Whether a time in nanoseconds is within those years. */
export function hasCalendar(nanoseconds: bigint): boolean {
  return nanoseconds >= firstTime && nanoseconds < lastTime
}

/** Days from 1970-01-01: `2024-01-31`, `2024-1-31`, `20240131`, or the date of a timestamp. */
export function parseDate(text: string): number | undefined {
  const signed = /^([+-]\d{4,9})-(\d{1,2})-(\d{1,2})$/.exec(text)
  const found = signed ?? /^(\d{4})-(\d{1,2})-(\d{1,2})$/.exec(text) ?? /^(\d{4})(\d\d)(\d\d)$/.exec(text)
  if (found) {
    const year = Number(found[1])
    return year < firstYear || year > lastYear
      ? undefined
      : checkedDays(year, Number(found[2]), Number(found[3]))
  }
  const nanoseconds = text.length > 10 ? parseTimestamp(text) : undefined
  if (nanoseconds === undefined) return undefined
  return Number((nanoseconds - (((nanoseconds % day) + day) % day)) / day)
}

const timestampPattern =
  /^(\d{4})-(\d\d)-(\d\d)(?:[Tt ](?:(\d\d):(\d\d):(\d\d)(?:\.(\d+))?|(\d\d)(\d\d)(\d\d))(.*))?$/s

/** Nanoseconds from 1970-01-01 of UTC. A time without a zone is in `zone`, or else in UTC. */
export function parseTimestamp(text: string, zone?: string): bigint | undefined {
  const found = timestampPattern.exec(text)
  if (!found) return undefined
  const days = checkedDays(Number(found[1]), Number(found[2]), Number(found[3]))
  const seconds = secondsOf(found[4] ?? found[8], found[5] ?? found[9], found[6] ?? found[10])
  if (days === undefined || seconds === undefined) return undefined
  const fraction = BigInt((found[7] ?? '').slice(0, 9).padEnd(9, '0'))
  const local = BigInt(days) * day + BigInt(seconds) * 1_000_000_000n + fraction
  const suffix = found[11] ?? ''
  const name = suffix === '' ? (zone ?? 'UTC') : suffix.trimStart()
  const fixed = fixedOffset(name)
  if (fixed !== undefined) return local - fixed
  const offset = zoneOffset(name)
  return offset && utcFromLocal(offset, local)
}

/** Seconds since midnight; a leap second counts as the one after the 59th. */
function secondsOf(hour = '00', minute = '00', second = '00'): number | undefined {
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 60) return undefined
  return Number(hour) * 3_600 + Number(minute) * 60 + Number(second)
}

/** Nanoseconds since midnight: `9:30`, `09:30:15.5`, `9:30 pm`. */
export function parseTime(text: string): bigint | undefined {
  const found = /^(\d?\d):(\d\d)(?::(\d\d)(?:\.(\d+))?)?(?: ([ap])m)?$/i.exec(text)
  if (!found) return undefined
  let hour = Number(found[1])
  if (found[5]) {
    if (hour < 1 || hour > 12) return undefined
    hour = (hour % 12) + (found[5].toLowerCase() === 'p' ? 12 : 0)
  }
  const seconds = secondsOf(String(hour), found[2], found[3])
  if (seconds === undefined) return undefined
  return BigInt(seconds) * 1_000_000_000n + BigInt((found[4] ?? '').slice(0, 9).padEnd(9, '0'))
}

/**
 * A decimal's unscaled value, rounded half away from zero. As in the reference, no digits are 0 if there are decimals.
 */
export function parseDecimal(text: string, scale: number): bigint | undefined {
  const found = /^([+-]?)(\d*)\.?(\d*)$/.exec(text.trim())
  if (!found || text.length > 200) return undefined
  const fraction = found[3]!
  const kept = found[2]! + fraction.slice(0, scale).padEnd(scale, '0')
  if (kept === '' && fraction === '') return undefined
  const value = BigInt(kept === '' ? 0 : kept) + ((fraction[scale] ?? '0') >= '5' ? 1n : 0n)
  return found[1] === '-' ? -value : value
}

/** A time in nanoseconds as an Arrow unit, rounded down. */
function toUnit(nanoseconds: bigint, unit: number): bigint {
  const size = unitNanoseconds[unit]!
  const rest = ((nanoseconds % size) + size) % size
  return (nanoseconds - rest) / size
}
