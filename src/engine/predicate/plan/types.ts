import {
  binary,
  bool,
  type DataType,
  dateMillisecond,
  decimal,
  type FloatType,
  field,
  float16,
  float32,
  float64,
  type IntType,
  int8,
  int16,
  int32,
  int64,
  list,
  nullType,
  TimeUnit,
  Type,
  timestamp,
  uint8,
  uint16,
  uint32,
  uint64,
  utf8,
} from '@uwdata/flechette'
import { typeName } from '../../arrow/type-name.ts'

export const boolean = bool()
export const text = utf8()
export const bytes = binary()
export const none = nullType()
export const long = int64()
export const integer = int32()
export const double = float64()

/** The logical type: one for all layouts of the same values, without dictionaries. */
export function logicalType(type: DataType): DataType {
  switch (type.typeId) {
    case Type.LargeUtf8:
    case Type.Utf8View:
    case Type.Utf8:
      return text
    case Type.Binary:
    case Type.LargeBinary:
    case Type.BinaryView:
    case Type.FixedSizeBinary:
      return bytes
    case Type.List:
    case Type.LargeList:
    case Type.ListView:
    case Type.LargeListView:
    case Type.FixedSizeList:
      return listOf(logicalType(type.children[0]!.type))
    case Type.Dictionary:
      return logicalType(type.dictionary)
    default:
      return type
  }
}

export function listOf(item: DataType): DataType {
  return list(field('item', item))
}

/** The item type of a list; undefined if the type is not a list. */
export function itemType(type: DataType): DataType | undefined {
  return type.typeId === Type.List ? type.children[0].type : undefined
}

/** Whether two logical types are the same one. */
export function sameType(a: DataType, b: DataType): boolean {
  if (a === b) return true
  if (a.typeId !== b.typeId) return false
  switch (a.typeId) {
    case Type.Null:
    case Type.Bool:
    case Type.Utf8:
    case Type.Binary:
      return true
    case Type.Int:
      return a.bitWidth === (b as IntType).bitWidth && a.signed === (b as IntType).signed
    case Type.Float:
      return a.precision === (b as FloatType).precision
    default:
      return typeName(a) === typeName(b)
  }
}

export const isNull = (type: DataType): boolean => type.typeId === Type.Null
export const isBoolean = (type: DataType): boolean => type.typeId === Type.Bool
export const isText = (type: DataType): boolean => type.typeId === Type.Utf8
export const isBytes = (type: DataType): boolean => type.typeId === Type.Binary
export const isInteger = (type: DataType): boolean => type.typeId === Type.Int
export const isFloat = (type: DataType): boolean => type.typeId === Type.Float
export const isDecimal = (type: DataType): boolean => type.typeId === Type.Decimal
export const isNumeric = (type: DataType): boolean => isInteger(type) || isFloat(type) || isDecimal(type)
export const isDate = (type: DataType): boolean => type.typeId === Type.Date
export const isTime = (type: DataType): boolean => type.typeId === Type.Time
export const isTimestamp = (type: DataType): boolean => type.typeId === Type.Timestamp
export const isDuration = (type: DataType): boolean => type.typeId === Type.Duration

/** Whether predicates support values of a logical type. Others can only occur in `IS NULL`. */
export function isReadable(type: DataType): boolean {
  const item = itemType(type)
  if (item) return isReadable(item)
  return (
    isNull(type) || isBoolean(type) || isText(type) || isBytes(type) || isNumeric(type) || isTemporal(type)
  )
}

function isTemporal(type: DataType): boolean {
  return isDate(type) || isTime(type) || isTimestamp(type) || isDuration(type)
}

/** The lowest and highest value of an integer type. */
export function integerRange(type: DataType): readonly [bigint, bigint] {
  if (type.typeId !== Type.Int) throw new TypeError(typeName(type))
  const bits = BigInt(type.bitWidth)
  return type.signed ? [-(2n ** (bits - 1n)), 2n ** (bits - 1n) - 1n] : [0n, 2n ** bits - 1n]
}

const factories = {
  signed: { 8: int8, 16: int16, 32: int32, 64: int64 },
  unsigned: { 8: uint8, 16: uint16, 32: uint32, 64: uint64 },
}

export function integerType(signed: boolean, bitWidth: 8 | 16 | 32 | 64): DataType {
  return factories[signed ? 'signed' : 'unsigned'][bitWidth]()
}

export function floatType(precision: number): DataType {
  return precision === 0 ? float16() : precision === 1 ? float32() : double
}

const maxDigits = { 32: 9, 64: 18, 128: 38, 256: 76 } as const

export function decimalType(precision: number, scale: number, bitWidth: 32 | 64 | 128 | 256): DataType {
  return decimal(Math.min(precision, maxDigits[bitWidth]), Math.min(scale, maxDigits[bitWidth]), bitWidth)
}

export { dateMillisecond, TimeUnit, Type, timestamp, typeName }
