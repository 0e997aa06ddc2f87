import { type DataType, Type } from '@uwdata/flechette'
import { unitNanoseconds } from '../../arrow/time/calendar.ts'
import type { NonNullScalar, Scalar } from '../plan/plan.ts'
import { itemType } from '../plan/types.ts'
import {
  formatDate,
  formatDecimal,
  formatDuration,
  formatFloat,
  formatHalf,
  formatTime,
  formatTimestamp,
} from './format.ts'

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
