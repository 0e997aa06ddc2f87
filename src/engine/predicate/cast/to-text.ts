import { type DataType, Type } from '@uwdata/flechette'
import { formatDecimal } from '../../arrow/decimals.ts'
import { type Clock, clockAt, dateFromDays, unitNanoseconds } from '../../arrow/time/calendar.ts'
import { zoneOffset } from '../../arrow/time/zone.ts'
import type { NonNullScalar, Scalar } from '../plan/plan.ts'
import { itemType } from '../plan/types.ts'

type ToText = (value: NonNullScalar) => string | undefined

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Converts values of a type to text. The converter returns undefined for bytes that are not UTF-8. */
export function textOf(type: DataType): ToText | undefined {
  switch (type.typeId) {
    case Type.Utf8:
      return (value) => value as string
    case Type.Bool:
    case Type.Int:
      return String
    case Type.Float: {
      if (type.precision === 0) return (value) => formatHalf(value as number)
      const single = type.precision < 2
      return (value) => formatFloat(value as number, single)
    }
    case Type.Decimal:
      return (value) => formatDecimal(value as bigint, type.scale)
    case Type.Binary:
      return decode
    case Type.Date:
      if (type.unit === 0) return (value) => formatDate(value as number)
      return (value) => formatTimestamp((value as bigint) * unitNanoseconds[1], null)
    case Type.Time:
      return (value) => formatTime(BigInt(value as number | bigint) * unitNanoseconds[type.unit])
    case Type.Timestamp:
      return (value) => formatTimestamp((value as bigint) * unitNanoseconds[type.unit], type.timezone)
    case Type.Duration:
      return (value) => formatDuration(value as bigint, type.unit)
    case Type.List:
      return listText(itemType(type)!)
    default:
      return undefined
  }
}

function decode(value: NonNullScalar): string | undefined {
  try {
    return decoder.decode(value as Uint8Array)
  } catch {
    return undefined
  }
}

function listText(item: DataType): ToText | undefined {
  const text = textOf(item)
  if (!text) return undefined
  return (value) => {
    const items = (value as readonly Scalar[]).map((entry) => (entry === null ? '' : text(entry)))
    return items.includes(undefined) ? undefined : `[${items.join(', ')}]`
  }
}

/*
 * Values as text, as arrow-rs writes them (`arrow_cast::display`).
 */

/** A float of 64 bits, or of 32 when `single`, in the fewest digits that distinguish it from its neighbours. */
function formatFloat(value: number, single: boolean): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? 'NaN' : value > 0 ? 'inf' : '-inf'
  const sign = value < 0 || Object.is(value, -0) ? '-' : ''
  if (value === 0) return `${sign}0.0`
  const [digits, point] = shortestDigits(Math.abs(value), single)
  const lowest = single ? -6 : -5
  const highest = single ? 13 : 16
  if (point > lowest && point <= 0) return `${sign}0.${'0'.repeat(-point)}${digits}`
  if (point > 0 && point <= highest) {
    if (digits.length <= point) return `${sign}${digits.padEnd(point, '0')}.0`
    return `${sign}${digits.slice(0, point)}.${digits.slice(point)}`
  }
  const rest = digits.length > 1 ? `.${digits.slice(1)}` : ''
  return `${sign}${digits[0]}${rest}e${point - 1}`
}

/** A float of 16 bits: without an exponent, and with a decimal point only for a fraction. */
function formatHalf(value: number): string {
  if (!Number.isFinite(value)) return formatFloat(value, true)
  const sign = value < 0 || Object.is(value, -0) ? '-' : ''
  if (value === 0) return `${sign}0`
  const [digits, point] = shortestDigits(Math.abs(value), true)
  if (point <= 0) return `${sign}0.${'0'.repeat(-point)}${digits}`
  if (digits.length <= point) return `${sign}${digits.padEnd(point, '0')}`
  return `${sign}${digits.slice(0, point)}.${digits.slice(point)}`
}

/** A positive number's digits, and how many of them are left of the point (negative: how many zeros follow it). */
function shortestDigits(value: number, single: boolean): [string, number] {
  let written = value.toExponential()
  if (single) {
    for (let digits = 0; digits <= 8; digits++) {
      written = value.toExponential(digits)
      if (Math.fround(Number(written)) === value) break
    }
  }
  const [digits = '', exponent] = written.split('e')
  return [digits.replace('.', '').replace(/0+$/, '') || '0', Number(exponent) + 1]
}

export function formatDate(days: number): string {
  return dateText(dateFromDays(days))
}

/** `2024-01-31T10:20:30.5`, with the zone's offset if there is a zone. */
export function formatTimestamp(nanoseconds: bigint, zone: string | null): string {
  if (zone === null) return clockText(clockAt(nanoseconds))
  const offset = zoneOffset(zone)?.(nanoseconds) ?? 0n
  const minutes = Number(offset / 60_000_000_000n)
  const sign = minutes < 0 ? '-' : '+'
  const size = Math.abs(minutes)
  const suffix = minutes === 0 ? 'Z' : `${sign}${two(Math.floor(size / 60))}:${two(size % 60)}`
  return `${clockText(clockAt(nanoseconds + offset))}${suffix}`
}

export function formatTime(nanoseconds: bigint): string {
  return timeText(clockAt(nanoseconds))
}

/** `1 days 2 hours 3 mins 4.500 secs`, with the decimals of the unit; every part has the sign. */
function formatDuration(value: bigint, unit: 0 | 1 | 2 | 3): string {
  const [size, sign] = value < 0n ? [-value, '-'] : [value, '']
  const inSecond = 10n ** BigInt(3 * unit)
  const seconds = size / inSecond
  const parts = [seconds / 86_400n, (seconds / 3_600n) % 24n, (seconds / 60n) % 60n]
  const [days, hours, minutes] = parts.map((part) => (part === 0n ? '0' : `${sign}${part}`))
  const decimals = unit === 0 ? '' : `.${String(size % inSecond).padStart(3 * unit, '0')}`
  const rest = size % (60n * inSecond) === 0n ? '' : sign
  return `${days} days ${hours} hours ${minutes} mins ${rest}${seconds % 60n}${decimals} secs`
}

function clockText(clock: Clock): string {
  return `${dateText(clock)}T${timeText(clock)}`
}

function dateText({ year, month, day }: { year: number; month: number; day: number }): string {
  const digits = String(Math.abs(year)).padStart(4, '0')
  const sign = year < 0 ? '-' : year > 9_999 ? '+' : ''
  return `${sign}${digits}-${two(month)}-${two(day)}`
}

/** The fraction takes three, six or nine digits, or none. */
function timeText({ hour, minute, second, nanosecond }: Clock): string {
  const digits = String(nanosecond).padStart(9, '0')
  const length = nanosecond === 0 ? 0 : nanosecond % 1_000_000 === 0 ? 3 : nanosecond % 1_000 === 0 ? 6 : 9
  const fraction = length === 0 ? '' : `.${digits.slice(0, length)}`
  return `${two(hour)}:${two(minute)}:${two(second)}${fraction}`
}

function two(value: number): string {
  return String(value).padStart(2, '0')
}
