import { type Column, type DataType, IntervalUnit, type Table, Type } from '@uwdata/flechette'
import { plain } from '../values.ts'
import { formatDate, formatTimestamp, units } from './time.ts'

/** Rows as the bytes of an Arrow IPC file, as a whole or in parts. */
export type Answer = Uint8Array | AsyncIterable<Uint8Array>

/** The rows of an answer with exact values for JSON and CSV, and the names of their columns. */
export async function* rowsOfParts(answer: Answer): AsyncGenerator<{
  readonly names: readonly string[]
  readonly rows: Iterable<Record<string, unknown>>
}> {
  const { tablesOfAnswer } = await import('../../engine/arrow/index.ts')
  for await (const table of tablesOfAnswer(answer))
    yield { names: table.schema.fields.map(({ name }) => name), rows: rowsOf(table) }
}

function* rowsOf({ schema, children, numRows }: Table): Generator<Record<string, unknown>> {
  const columns = schema.fields.map(({ name, type }, index) => ({
    name,
    column: readingIntervals(children[index]!),
    read: readerOf(type),
  }))
  for (let row = 0; row < numRows; row++)
    yield Object.fromEntries(columns.map(({ name, column, read }) => [name, read(column.at(row))]))
}

/** The column, whose intervals of nanoseconds are read with all of their digits. Its library gives floats. */
function readingIntervals(column: Column<unknown>): Column<unknown> {
  for (const batch of column.data) readIntervals(batch as ReadBatch)
  return column
}

/** What a batch of any type may have. */
interface ReadBatch {
  readonly type: DataType
  readonly values?: Uint8Array
  readonly children?: readonly ReadBatch[]
  readonly dictionary?: Column<unknown>
  value(index: number): unknown
}

function readIntervals(batch: ReadBatch): void {
  const { type, values, children = [], dictionary } = batch
  for (const child of children) readIntervals(child)
  if (dictionary) readingIntervals(dictionary)
  if (type.typeId !== Type.Interval || type.unit !== IntervalUnit.MONTH_DAY_NANO) return
  const { buffer, byteOffset, byteLength } = values!
  const view = new DataView(buffer, byteOffset, byteLength)
  batch.value = (index) => {
    const at = index * 16
    return [view.getInt32(at, true), view.getInt32(at + 4, true), view.getBigInt64(at + 8, true)]
  }
}

type Read = (value: unknown) => unknown

/** The reader for values of a type: dates and times as ISO text, decimals as text, all others like `plain`. */
function readerOf(type: DataType): Read {
  const read = presentReader(type)
  return read === plain ? plain : (value) => (value === null || value === undefined ? null : read(value))
}

function presentReader(type: DataType): Read {
  switch (type.typeId) {
    case Type.Date:
      return (value) => dateText(value as number, type.unit === 0)
    case Type.Timestamp:
      return (value) => formatTimestamp(value as bigint, units[type.unit], type.timezone != null)
    case Type.Decimal:
      return (value) => decimalText(BigInt(value as bigint | number), type.scale)
    case Type.List:
    case Type.LargeList:
    case Type.FixedSizeList:
    case Type.ListView:
    case Type.LargeListView: {
      const item = readerOf(type.children[0]!.type)
      return (value) => Array.from(value as Iterable<unknown>, item)
    }
    case Type.Struct: {
      const readers = new Map(type.children.map(({ name, type: member }) => [name, readerOf(member)]))
      return (value) =>
        Object.fromEntries(
          Array.from(readers, ([name, read]) => [name, read((value as Record<string, unknown>)[name])]),
        )
    }
    case Type.Map: {
      const [key, member] = (type.children[0]!.type as { children: { type: DataType }[] }).children
      const [readKey, readMember] = [readerOf(key!.type), readerOf(member!.type)]
      return (value) =>
        Array.from(value as Iterable<[unknown, unknown]>, ([name, item]) => [readKey(name), readMember(item)])
    }
    case Type.Dictionary:
      return readerOf(type.dictionary)
    case Type.RunEndEncoded:
      return readerOf(type.children[1]!.type)
    default:
      return plain
  }
}

const dayMillis = 86_400_000
const maxMillis = 8_640_000_000_000_000

/** A date as ISO text, or as a number in the unit of the column beyond the years of ISO text. */
function dateText(millis: number, isDay: boolean): unknown {
  if (Math.abs(millis) > maxMillis) return isDay ? millis / dayMillis : millis
  return millis % dayMillis === 0 ? formatDate(millis) : new Date(millis).toISOString()
}

function decimalText(unscaled: bigint, scale: number): string {
  const digits = String(unscaled < 0n ? -unscaled : unscaled)
  const sign = unscaled < 0n ? '-' : ''
  if (scale <= 0) return sign + digits + (unscaled === 0n ? '' : '0'.repeat(-scale))
  const padded = digits.padStart(scale + 1, '0')
  return `${sign}${padded.slice(0, -scale)}.${padded.slice(-scale)}`
}
