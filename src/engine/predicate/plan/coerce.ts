import { type DataType, duration, TimeUnit, timestamp } from '@uwdata/flechette'
import {
  dateMillisecond,
  decimalType,
  floatType,
  integerType,
  isBytes,
  isDate,
  isDecimal,
  isInteger,
  isNull,
  isNumeric,
  isText,
  isTime,
  isTimestamp,
  itemType,
  listOf,
  sameType,
  Type,
} from './types.ts'

/*
 * The common type of two values of different types. Source: `datafusion_expr_common::type_coercion::binary` of
 * DataFusion 54, as observed from outside.
 */

/** The type in which two values are compared; undefined if they cannot be compared. */
export function comparisonType(a: DataType, b: DataType): DataType | undefined {
  if (sameType(a, b)) return a
  if (isNull(a)) return b
  if (isNull(b)) return a
  return numericType(a, b) ?? temporalType(a, b) ?? oneSided(a, b) ?? oneSided(b, a) ?? listType(a, b)
}

/** The common type of a string and another type. */
function oneSided(a: DataType, b: DataType): DataType | undefined {
  if (isText(a) && b.typeId === Type.Timestamp) return timestamp(TimeUnit.NANOSECOND, b.timezone)
  if (isText(a) && (isNumeric(b) || isDate(b) || isTime(b) || isBytes(b))) return b
  if (isDate(a) && isInteger(b)) return a
  return undefined
}

function listType(a: DataType, b: DataType): DataType | undefined {
  const left = itemType(a)
  const right = itemType(b)
  const item = left && right && comparisonType(left, right)
  return item && listOf(item)
}

/** The narrowest numeric type that holds the values of two others. */
export function numericType(a: DataType, b: DataType): DataType | undefined {
  if (!isNumeric(a) || !isNumeric(b)) return undefined
  if (sameType(a, b)) return a
  if (isDecimal(a) || isDecimal(b)) return widerDecimal(a, b)
  return binaryNumber(a, b)
}

function binaryNumber(a: DataType, b: DataType): DataType | undefined {
  if (a.typeId === Type.Float || b.typeId === Type.Float) {
    const left = a.typeId === Type.Float ? a.precision : 0
    const right = b.typeId === Type.Float ? b.precision : 0
    return floatType(Math.max(left, right))
  }
  if (a.typeId !== Type.Int || b.typeId !== Type.Int) return undefined
  if (a.signed === b.signed) return a.bitWidth >= b.bitWidth ? a : b
  const [signed, unsigned] = a.signed ? [a, b] : [b, a]
  if (unsigned.bitWidth === 64) return decimalType(20, 0, 128)
  if (signed.bitWidth > unsigned.bitWidth) return signed
  return integerType(true, (unsigned.bitWidth * 2) as 16 | 32 | 64)
}

/** The decimal type that holds every value of two types, one of which is decimal. */
function widerDecimal(a: DataType, b: DataType): DataType | undefined {
  const left = asDecimal(a)
  const right = asDecimal(b)
  if (!left || !right) return undefined
  const scale = Math.max(left.scale, right.scale)
  const range = Math.max(left.precision - left.scale, right.precision - right.scale)
  const bitWidth = Math.max(left.bitWidth, right.bitWidth) as 32 | 64 | 128 | 256
  // Narrow decimals do not hold all other numbers, so these are compared in 128 bits.
  return decimalType(range + scale, scale, range + scale > 18 && bitWidth < 128 ? 128 : bitWidth)
}

interface Digits {
  readonly precision: number
  readonly scale: number
  readonly bitWidth: 32 | 64 | 128 | 256
}

/** How many digits a decimal needs for the values of a numeric type. */
export function asDecimal(type: DataType): Digits | undefined {
  if (type.typeId === Type.Decimal) return type
  if (type.typeId === Type.Int) {
    return { precision: { 8: 3, 16: 5, 32: 10, 64: 20 }[type.bitWidth], scale: 0, bitWidth: 32 }
  }
  if (type.typeId === Type.Float) {
    return (
      [
        { precision: 6, scale: 3 },
        { precision: 14, scale: 7 },
        { precision: 30, scale: 15 },
      ] as const
    ).map((digits) => ({ ...digits, bitWidth: 32 as const }))[type.precision]
  }
  return undefined
}

/** The common type of two different types of points in time. */
function temporalType(a: DataType, b: DataType): DataType | undefined {
  if (a.typeId === Type.Timestamp && b.typeId === Type.Timestamp) {
    // The coarser unit, as the reference compares.
    return timestamp(Math.min(a.unit, b.unit) as typeof a.unit, a.timezone ?? b.timezone)
  }
  if (a.typeId === Type.Duration && b.typeId === Type.Duration) {
    return duration(Math.max(a.unit, b.unit) as typeof a.unit)
  }
  if (isDate(a) && isDate(b)) return dateMillisecond()
  if (isDate(a) && isTimestamp(b)) return timestamp(TimeUnit.NANOSECOND)
  if (isTimestamp(a) && isDate(b)) return timestamp(TimeUnit.NANOSECOND)
  return undefined
}
