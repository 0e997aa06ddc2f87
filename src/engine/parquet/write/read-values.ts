import { type DataType, Type } from '@uwdata/flechette'
import { invalid } from '../../../base/errors.ts'
import type { AnyBatch, Offsets } from '../../arrow/batch.ts'
import { layoutOf } from '../../arrow/layout.ts'
import type { Column } from './elements.ts'

/** Reads values of a batch as the library writes them: numbers, bigints, booleans, or bytes. */
export function readerOf(batch: AnyBatch, { element, field }: Column): (row: number) => unknown {
  const { type } = batch
  const layout = layoutOf(type)
  if (layout.kind === 'bytes') {
    const [offsets, values] = [batch.offsets as Offsets, batch.values as Uint8Array]
    return (row) => values.subarray(Number(offsets[row]), Number(offsets[row + 1]))
  }
  const values = batch.values as unknown as Record<number, number | bigint>
  switch (type.typeId) {
    case Type.Null:
      return () => null
    case Type.FixedSizeBinary: {
      const bytes = batch.values as Uint8Array
      return (row) => bytes.subarray(row * type.stride, (row + 1) * type.stride)
    }
    case Type.Date:
      return type.unit === 0 ? (row) => values[row] : (row) => wholeDays(values[row] as bigint, field.name)
    case Type.Time:
      return type.unit === 0 ? (row) => (values[row] as number) * 1000 : (row) => values[row]
    case Type.Timestamp:
      return type.unit === 0 ? (row) => inMillis(values[row] as bigint, field.name) : (row) => values[row]
    case Type.Interval:
      return intervalReader(batch, type.unit, field.name)
    case Type.Decimal:
      return decimalReader(batch, type, element.type === 'INT32')
    case Type.Int:
    case Type.Duration:
      return (row) => values[row]
    default:
      // Floats as numbers, half ones too, and booleans.
      return (row) => batch.value(row)
  }
}

const dayMillis = 86_400_000n

function wholeDays(millis: bigint, column: string): number {
  if (millis % dayMillis === 0n) return Number(millis / dayMillis)
  throw invalid(
    `Column ${JSON.stringify(column)} has a date with a time of day, which Parquet's dates cannot hold. Cast it to a timestamp.`,
  )
}

function inMillis(seconds: bigint, column: string): bigint {
  const millis = seconds * 1000n
  if (BigInt.asIntN(64, millis) === millis) return millis
  throw invalid(
    `Column ${JSON.stringify(column)} has a time beyond the years that milliseconds reach. Parquet has no seconds.`,
  )
}

function decimalReader(batch: AnyBatch, type: DataType, isSmall: boolean): (row: number) => bigint | number {
  if (type.typeId !== Type.Decimal) throw new TypeError('no decimal')
  const source = batch.values as Uint8Array
  const view = new DataView(source.buffer, source.byteOffset, source.byteLength)
  const bytes = type.bitWidth / 8
  return (row) => {
    if (bytes === 4) return BigInt(view.getInt32(row * 4, true))
    const at = row * bytes
    let value = view.getBigInt64(at + bytes - 8, true)
    for (let word = bytes - 16; word >= 0; word -= 8)
      value = (value << 64n) | view.getBigUint64(at + word, true)
    return isSmall ? BigInt.asIntN(64, value) : value
  }
}

/** Parquet's intervals have months, days and milliseconds, none of them negative. */
function intervalReader(batch: AnyBatch, unit: number, column: string): (row: number) => Uint8Array {
  const source = batch.values as Uint8Array
  const view = new DataView(source.buffer, source.byteOffset, source.byteLength)
  return (row) => {
    const at = row * [4, 8, 16][unit]!
    const months = unit === 1 ? 0 : view.getInt32(at, true)
    const days = unit === 0 ? 0 : view.getInt32(unit === 1 ? at : at + 4, true)
    const nanos =
      unit === 2
        ? view.getBigInt64(at + 8, true)
        : unit === 1
          ? BigInt(view.getInt32(at + 4, true)) * 1_000_000n
          : 0n
    const millis = nanos / 1_000_000n
    if (months < 0 || days < 0 || nanos < 0n || nanos % 1_000_000n !== 0n || millis >= 2n ** 32n) {
      throw invalid(
        `Column ${JSON.stringify(column)} has an interval that is negative, or not of whole milliseconds, which Parquet cannot hold. Leave the column out.`,
      )
    }
    const bytes = new Uint8Array(12)
    const out = new DataView(bytes.buffer)
    out.setUint32(0, months, true)
    out.setUint32(4, days, true)
    out.setUint32(8, Number(millis), true)
    return bytes
  }
}
