import { type DataType, type DecimalType, Type } from '@uwdata/flechette'
import { checkedDays, unitNanoseconds } from '../../arrow/time/calendar.ts'
import { zoneSeconds } from '../../arrow/time/zone.ts'
import type { OfBytes, OfNumbers } from '../plan/plan.ts'
import { integerRange, integerType } from '../plan/types.ts'
import { roundTo } from './numbers.ts'

/*
 * Casts of values that are given as numbers (`OfNumbers`). What they return for a value equals the result of
 * `converter`. Undefined leaves a value to it: one that fails, or that a number does not hold exactly.
 */

/** The cast between two types for values given as numbers; undefined if there is none, or it would not be faster. */
export function castOfNumbers(from: DataType, to: DataType): OfNumbers | OfBytes | undefined {
  switch (from.typeId) {
    case Type.Utf8:
      return ofText(to)
    case Type.Bool:
    case Type.Int:
      return ofInteger(from, to)
    case Type.Float:
      return ofFloat(to)
    case Type.Decimal:
      return ofDecimal(from, to)
    case Type.Date:
    case Type.Timestamp:
      // A time as a number is the count of its units.
      return isCount(to) ? ofInteger(from, to) : ofTime(from, to)
    default:
      return undefined
  }
}

function isCount(type: DataType): boolean {
  return type.typeId === Type.Int || type.typeId === Type.Float || type.typeId === Type.Decimal
}

function ofInteger(from: DataType, to: DataType): OfNumbers | undefined {
  switch (to.typeId) {
    case Type.Bool:
      return (value) => value !== 0
    case Type.Int:
      return fitting(to)
    case Type.Float:
      return roundTo(to)
    case Type.Decimal:
      return from.typeId === Type.Bool ? undefined : toScale(0, to)
    case Type.Timestamp:
    case Type.Duration:
      return (value) => value
    case Type.Date:
      if (to.unit === 0) return fitDays
      return from.typeId === Type.Int && from.bitWidth === 32
        ? (value) => value * 86_400_000
        : (value) => value
    default:
      return undefined
  }
}

function ofFloat(to: DataType): OfNumbers | undefined {
  switch (to.typeId) {
    case Type.Bool:
      return (value) => value !== 0
    case Type.Int: {
      const fit = fitting(to)
      return (value) => fit(Math.trunc(value))
    }
    case Type.Float:
      return roundTo(to)
    case Type.Decimal: {
      const fit = withDigits(to)
      const factor = 10 ** to.scale
      return (value) => {
        const scaled = value * factor
        const cut = Math.trunc(scaled)
        return fit(Math.abs(scaled - cut) >= 0.5 ? cut + Math.sign(scaled) : cut)
      }
    }
    default:
      return undefined
  }
}

function ofDecimal(from: DecimalType, to: DataType): OfNumbers | undefined {
  const factor = 10 ** from.scale
  switch (to.typeId) {
    case Type.Int: {
      const fit = from.scale >= 0 && from.scale <= maxDigits ? fitting(to) : undefined
      return fit && ((value) => fit(Math.trunc(value / factor)))
    }
    case Type.Float: {
      const round = roundTo(to)
      return (value) => round(value / factor)
    }
    case Type.Decimal:
      return toScale(from.scale, to)
    default:
      return undefined
  }
}

/** Powers of ten up to this one are safe integers. */
const maxDigits = 15

/** An unscaled value with more decimals; fewer ones would be rounded. */
function toScale(from: number, to: DecimalType): OfNumbers | undefined {
  if (to.scale < from || to.scale - from > maxDigits) return undefined
  const factor = 10 ** (to.scale - from)
  const fit = withDigits(to)
  return (value) => fit(value * factor)
}

/** A value within the digits of a decimal. */
function withDigits({ precision }: DecimalType): (value: number) => number | undefined {
  const limit = 10 ** Math.min(precision, maxDigits)
  return (value) => (value < limit && value > -limit ? value : undefined)
}

/** A whole number within the range of an integer type. */
function fitting(type: DataType): (value: number) => number | undefined {
  const [low, high] = integerRange(type)
  const least = Math.max(Number(low), Number.MIN_SAFE_INTEGER)
  const most = Math.min(Number(high), Number.MAX_SAFE_INTEGER)
  return (value) => (value >= least && value <= most ? value : undefined)
}

function ofTime(from: DataType, to: DataType): OfNumbers | undefined {
  const size = ticksOfDay(from)
  const target = ticksOfDay(to)
  if (size === undefined || target === undefined) return undefined
  if (zoneOf(from) !== null || zoneOf(to) !== null) return ofZonedTime(from, to, size)
  if (target >= size) {
    const factor = target / size
    return (value) => value * factor
  }
  const factor = size / target
  const isDay = to.typeId === Type.Date && to.unit === 0
  if (!isDay) return (value) => Math.trunc(value / factor)
  // The day of a timestamp is that of the calendar; a date of milliseconds is cut.
  return from.typeId === Type.Timestamp
    ? (value) => fitDays(Math.floor(value / factor))
    : (value) => fitDays(Math.trunc(value / factor))
}

const fitDays = fitting(integerType(true, 32))

/** The day of a timestamp in its zone's calendar; other casts with a zone are left to `converter`. */
function ofZonedTime(from: DataType, to: DataType, size: number): OfNumbers | undefined {
  const zone = zoneOf(from)
  if (zone === null || to.typeId !== Type.Date || to.unit !== 0) return undefined
  const ahead = zoneSeconds(zone)
  const perSecond = size / 86_400
  return (value) => {
    const utc = Math.floor(value / perSecond)
    return fitDays(Math.floor((ahead === undefined ? utc : utc + ahead(utc)) / 86_400))
  }
}

function zoneOf(type: DataType): string | null {
  return type.typeId === Type.Timestamp ? type.timezone : null
}

function ticksOfDay(type: DataType): number | undefined {
  if (type.typeId === Type.Date) return type.unit === 0 ? 1 : 86_400_000
  return type.typeId === Type.Timestamp ? 86_400e9 / Number(unitNanoseconds[type.unit]) : undefined
}

function ofText(to: DataType): OfBytes | undefined {
  switch (to.typeId) {
    case Type.Int: {
      const fit = fitting(to)
      return (bytes, from, end) => {
        const value = readInteger(bytes, from, end)
        return value === undefined ? undefined : fit(value)
      }
    }
    case Type.Float:
      return to.precision === 2 ? readFloat : undefined
    case Type.Date:
      return to.unit === 0 ? readDate : undefined
    default:
      return undefined
  }
}

const [zero, minus, dot] = [0x30, 0x2d, 0x2e]

/** `-12`: a sign, and up to 15 digits. */
function readInteger(bytes: Uint8Array, from: number, end: number): number | undefined {
  if (bytes[from] !== minus) return readDigits(bytes, from, end)
  const value = readDigits(bytes, from + 1, end)
  return value === undefined ? undefined : 0 - value
}

function readDigits(bytes: Uint8Array, from: number, end: number): number | undefined {
  if (end <= from || end - from > maxDigits) return undefined
  let value = 0
  for (let i = from; i < end; i++) {
    const digit = bytes[i]! - zero
    if (digit < 0 || digit > 9) return undefined
    value = value * 10 + digit
  }
  return value
}

/**
 * `-12.5`: up to 15 digits, some after a point. Such a number is a quotient of two doubles that are exact, so the
 * division rounds it right. Source: Clinger, "How to read floating point numbers accurately", 1990.
 */
function readFloat(bytes: Uint8Array, from: number, end: number): number | undefined {
  const negative = bytes[from] === minus
  const first = negative ? from + 1 : from
  if (end - first > maxDigits + 1) return undefined
  let value = 0
  let digits = 0
  let decimals = -1
  for (let i = first; i < end; i++) {
    const digit = bytes[i]! - zero
    if (digit >= 0 && digit <= 9) {
      value = value * 10 + digit
      digits++
      if (decimals >= 0) decimals++
    } else if (bytes[i] === dot && decimals < 0) decimals = 0
    else return undefined
  }
  if (digits === 0 || digits > maxDigits) return undefined
  const result = decimals > 0 ? value / 10 ** decimals : value
  return negative ? -result : result
}

/** `2024-01-31`. */
function readDate(bytes: Uint8Array, from: number, end: number): number | undefined {
  if (end - from !== 10 || bytes[from + 4] !== minus || bytes[from + 7] !== minus) return undefined
  const year = readDigits(bytes, from, from + 4)
  const month = readDigits(bytes, from + 5, from + 7)
  const day = readDigits(bytes, from + 8, end)
  const isDate = year !== undefined && month !== undefined && day !== undefined
  return isDate ? checkedDays(year, month, day) : undefined
}
