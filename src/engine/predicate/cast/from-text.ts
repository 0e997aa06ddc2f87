import { type DataType, Type } from '@uwdata/flechette'
import { unitNanoseconds } from '../../arrow/time/calendar.ts'
import { integerType } from '../plan/types.ts'
import { type Convert, checkDigits, roundTo, toInteger } from './numbers.ts'
import {
  parseBoolean,
  parseDate,
  parseDecimal,
  parseFloat64,
  parseInteger,
  parseTime,
  parseTimestamp,
  toUnit,
} from './parse.ts'

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
