import { type DataType, type DecimalType, Type } from '@uwdata/flechette'
import type { NonNullScalar } from '../plan/plan.ts'
import { integerType } from '../plan/types.ts'
import { long } from './from-text.ts'
import {
  type Convert,
  checkDigits,
  decimalToFloat,
  floatToDecimal,
  floatToInteger,
  rescale,
  roundTo,
  toInteger,
} from './numbers.ts'

/** The converter from integers and booleans. */
export function fromInteger(from: DataType, to: DataType): Convert | undefined {
  const boolean = from.typeId === Type.Bool
  switch (to.typeId) {
    case Type.Bool:
      return (value) => value !== 0 && value !== 0n
    case Type.Int: {
      const fit = toInteger(to)
      return (value) => fit(whole(value))
    }
    case Type.Float: {
      const round = roundTo(to)
      return (value) => round(Number(value))
    }
    case Type.Decimal: {
      if (boolean) return undefined
      const fit = checkDigits(to)
      const scale = rescale(0, to.scale)
      return (value) => fit(scale(whole(value)))
    }
    case Type.Binary:
      return from.typeId === Type.Int ? bytesOf(from.bitWidth / 8) : undefined
    default:
      return boolean ? undefined : toTime(to, whole, from)
  }
}

/** The bytes of an integer in memory, the lowest first. */
function bytesOf(length: number): Convert {
  return (value) => {
    const bytes = new Uint8Array(8)
    new DataView(bytes.buffer).setBigUint64(0, BigInt.asUintN(64, whole(value)), true)
    return bytes.subarray(0, length)
  }
}

function whole(value: NonNullScalar): bigint {
  return BigInt(value as boolean | number | bigint)
}

/** The converter from a number that counts units of a time type. */
function toTime(
  to: DataType,
  count: (value: NonNullScalar) => bigint | undefined,
  from: DataType,
): Convert | undefined {
  const bits = from.typeId === Type.Int && from.signed ? from.bitWidth : 0
  const fit = toInteger(integerType(true, 32))
  switch (to.typeId) {
    case Type.Timestamp:
    case Type.Duration:
      return (value) => whenDefined(count(value), long)
    case Type.Date:
      if (bits !== 32 && bits !== 64) return undefined
      if (to.unit === 1)
        return (value) => whenDefined(count(value), (days) => (bits === 32 ? days * 86_400_000n : days))
      return (value) => whenDefined(count(value), fit)
    case Type.Time:
      if (bits !== to.bitWidth) return undefined
      return bits === 32 ? (value) => whenDefined(count(value), Number) : count
    default:
      return undefined
  }
}

/** The converter from floats and decimals. */
export function fromNumber(from: DataType, to: DataType): Convert | undefined {
  if (from.typeId === Type.Decimal) return fromDecimal(from, to)
  switch (to.typeId) {
    case Type.Bool:
      return (value) => value !== 0
    case Type.Int:
      return floatToInteger(to)
    case Type.Float: {
      const round = roundTo(to)
      return (value) => round(value as number)
    }
    case Type.Decimal:
      return floatToDecimal(to)
    case Type.Timestamp:
    case Type.Duration: {
      const convert = floatToInteger(integerType(true, 64))
      return toTime(to, (value) => convert(value) as bigint | undefined, from)
    }
    default:
      return undefined
  }
}

function fromDecimal(from: DecimalType, to: DataType): Convert | undefined {
  switch (to.typeId) {
    case Type.Int: {
      const fit = toInteger(to)
      return (value) => fit(cut(value as bigint, from.scale))
    }
    case Type.Float: {
      const round = roundTo(to)
      const number = decimalToFloat(from.scale)
      return (value) => round(number(value as bigint))
    }
    case Type.Decimal: {
      const fit = checkDigits(to)
      const scale = rescale(from.scale, to.scale)
      return (value) => fit(scale(value as bigint))
    }
    case Type.Timestamp:
    case Type.Duration:
      return toTime(to, (value) => cut(value as bigint, from.scale), from)
    default:
      return undefined
  }
}

/** An unscaled value with its decimals cut off. */
function cut(value: bigint, scale: number): bigint {
  return scale >= 0 ? value / 10n ** BigInt(scale) : value * 10n ** BigInt(-scale)
}

function whenDefined<T, U>(value: T | undefined, use: (value: T) => U): U | undefined {
  return value === undefined ? undefined : use(value)
}
