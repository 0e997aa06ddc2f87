import { type Column, type DataType, Type, tableFromIPC } from '@uwdata/flechette'
import { plain } from '../values.ts'
import { formatDate, formatTimestamp, units } from './time.ts'

/** The rows of an Arrow IPC file, with exact values for JSON and CSV. */
export function* arrowRows(bytes: Uint8Array): Generator<Record<string, unknown>> {
  const table = tableFromIPC(bytes, {
    useBigInt: true,
    useBigIntTimestamp: true,
    useDecimalInt: true,
    // Otherwise a member `__proto__` would become the prototype of its struct.
    useProxy: true,
  })
  const columns = table.schema.fields.map(({ name, type }, index) => ({
    name,
    column: table.getChildAt(index) as Column<unknown>,
    read: readerOf(type),
  }))
  for (let row = 0; row < table.numRows; row++) {
    yield Object.fromEntries(columns.map(({ name, column, read }) => [name, read(column.at(row))]))
  }
}

/** Rows as the bytes of an Arrow IPC file, as a whole or in parts. */
export type Answer = Uint8Array | AsyncIterable<Uint8Array>

/** The rows of an answer with exact values for JSON and CSV, and the names of their columns. */
export async function* rowsOfParts(answer: Answer): AsyncGenerator<{
  readonly names: readonly string[]
  readonly rows: Iterable<Record<string, unknown>>
}> {
  const { encodeArrow, joinParts, tablesOfAnswer } = await import('../../engine/arrow/index.ts')
  for await (const { schema, children } of tablesOfAnswer(answer)) {
    const batches = children.map(({ data }) => data as never)
    yield {
      names: schema.fields.map(({ name }) => name),
      rows: arrowRows(joinParts(encodeArrow(schema, batches))),
    }
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
