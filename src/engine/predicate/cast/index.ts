import { type DataType, Type } from '@uwdata/flechette'
import { excerpt, rowError } from '../errors.ts'
import type { CastPlan, NonNullScalar, Plan, Scalar } from '../plan/plan.ts'
import { isText, itemType, sameType, typeName } from '../plan/types.ts'
import { fromInteger, fromNumber } from './from-number.ts'
import { fromText } from './from-text.ts'
import { fromTime } from './from-time.ts'
import type { Convert } from './numbers.ts'
import { castOfNumbers } from './of-numbers.ts'
import { textOf } from './to-text.ts'

/** The converter between logical types; undefined if there is no such cast, by `arrow_cast::can_cast_types`. */
export function converter(from: DataType, to: DataType): Convert | undefined {
  if (sameType(from, to)) return (value) => value
  if (from.typeId === Type.Null) return () => undefined
  if (isText(to)) return toText(from)
  switch (from.typeId) {
    case Type.Utf8:
      return fromText(to)
    case Type.Bool:
    case Type.Int:
      return fromInteger(from, to)
    case Type.Float:
    case Type.Decimal:
      return fromNumber(from, to)
    case Type.Date:
    case Type.Time:
    case Type.Timestamp:
    case Type.Duration:
      return fromTime(from, to)
    case Type.List:
      return listConverter(from, to)
    default:
      return undefined
  }
}

function toText(from: DataType): Convert | undefined {
  const text = textOf(from)
  return text && ((value) => text(value))
}

function listConverter(from: DataType, to: DataType): Convert | undefined {
  const source = itemType(from)
  const target = itemType(to)
  const convert = source && target && converter(source, target)
  return convert && eachItem(convert)
}

/** Converts each item of a list. Undefined if one cannot be converted. */
export function eachItem(convert: Convert): Convert {
  return (value) => {
    const items: Scalar[] = []
    for (const item of value as readonly Scalar[]) {
      const converted = item === null ? null : convert(item)
      if (converted === undefined) return undefined
      items.push(converted)
    }
    return items
  }
}

/** Casts a plan's value to another type; undefined if the dialect has no such cast. */
export function castPlan(arg: Plan, type: DataType, orNull: boolean, at: number): CastPlan | undefined {
  const convert = converter(arg.type, type)
  if (!convert) return undefined
  const strict = strictly(convert, arg.type, type, orNull, at)
  return { kind: 'cast', type, arg, orNull, at, convert: strict, ofNumbers: castOfNumbers(arg.type, type) }
}

function strictly(
  convert: Convert,
  from: DataType,
  to: DataType,
  orNull: boolean,
  at: number,
): CastPlan['convert'] {
  return (value) => {
    const converted = convert(value)
    if (converted !== undefined) return converted
    if (orNull) return null
    const what = `${typeName(from)} ${excerpt(showScalar(value, from))} cannot be cast to ${typeName(to)}`
    throw rowError(at, what, 'Use TRY_CAST, which gives NULL for such values.')
  }
}

/** A value as text for an error message. */
export function showScalar(value: NonNullScalar, type: DataType): string {
  return textOf(type)?.(value) ?? String(value)
}
