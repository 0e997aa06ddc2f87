import { type DataType, type Table, Type } from '@uwdata/flechette'
import { formatDecimal } from './decimals.ts'
import { childFields, layoutOf } from './layout.ts'

/** A row as an object: a value for each column, null where there is none. */
export type PlainRow = Record<string, unknown>

/** The rows of a table as plain objects. They are valid input with equal values, and share no memory with the table. */
export function* plainRows({ schema, children, numRows }: Table): Generator<PlainRow> {
  const columns = schema.fields.map(({ name, type }, index) => ({
    name,
    column: children[index]!,
    read: readerOf(type),
  }))
  for (let row = 0; row < numRows; row++) {
    const values: PlainRow = {}
    for (const { name, column, read } of columns) put(values, name, readOrNull(read, column.at(row)))
    yield values
  }
}

type Read = (value: unknown) => unknown

const asIs: Read = (value) => value

function readOrNull(read: Read, value: unknown): unknown {
  return value === null || value === undefined ? null : read(value)
}

/** Sets an own member of the object, whatever its name. */
function put(object: PlainRow, name: string, value: unknown): void {
  if (name !== '__proto__') object[name] = value
  else Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true })
}

/** How to read the values of a type that are not null. */
function readerOf(type: DataType): Read {
  switch (type.typeId) {
    case Type.Binary:
    case Type.LargeBinary:
    case Type.BinaryView:
    case Type.FixedSizeBinary:
      return (value) => Uint8Array.from(value as Uint8Array)
    case Type.Date:
      return (value) => dateOf(value as number, type.unit === 0)
    case Type.Timestamp: {
      const { unit } = type
      // A Date is precise to milliseconds only.
      return unit > 1 ? asIs : (value) => momentOf(value as bigint, unit === 0 ? 1_000n : 1n)
    }
    case Type.Decimal:
      // Input accepts no text for a negative scale.
      return type.scale < 0
        ? (value) => BigInt(value as bigint | number)
        : (value) => formatDecimal(BigInt(value as bigint | number), type.scale)
    case Type.List:
    case Type.LargeList:
    case Type.ListView:
    case Type.LargeListView:
    case Type.FixedSizeList:
      return listReader(childFields(type)[0]!.type, type.typeId === Type.FixedSizeList)
    case Type.Struct: {
      const readers = new Map(childFields(type).map(({ name, type: member }) => [name, readerOf(member)]))
      return (value) => {
        const object: PlainRow = {}
        for (const [name, read] of readers) put(object, name, readOrNull(read, (value as PlainRow)[name]))
        return object
      }
    }
    case Type.Map: {
      const [key, item] = childFields(childFields(type)[0]!.type).map((field) => readerOf(field.type))
      return (value) =>
        new Map(
          Array.from(value as Iterable<[unknown, unknown]>, ([name, member]) => [
            readOrNull(key!, name),
            readOrNull(item!, member),
          ]),
        )
    }
    case Type.Dictionary:
      return readerOf(type.dictionary)
    case Type.RunEndEncoded:
      return readerOf(childFields(type)[1]!.type)
    default:
      return asIs
  }
}

/** Lists become arrays. Vectors without nulls become typed arrays: input does not infer vectors from plain arrays. */
function listReader(item: DataType, isFixed: boolean): Read {
  const read = readerOf(item)
  const isOfArrays =
    (item.typeId === Type.Float && item.precision === 2) ||
    (item.typeId === Type.Int && item.bitWidth === 64 && item.signed)
  const isVector =
    (item.typeId === Type.Int && !(item.bitWidth === 8 && !item.signed)) ||
    (item.typeId === Type.Float && item.precision > 0)
  const layout = layoutOf(item)
  if (!isVector || (!isFixed && isOfArrays) || layout.kind !== 'fixed')
    return (value) => Array.from(value as Iterable<unknown>, (member) => readOrNull(read, member))
  const vector = layout.array as { from(values: Iterable<unknown>): unknown }
  return (value) => {
    // If another vector is null or has a null, all of them become arrays.
    const values = value as readonly unknown[]
    return Array.isArray(values) && values.includes(null) ? [...values] : vector.from(values)
  }
}

const dayMillis = 86_400_000
const maxMillis = 8_640_000_000_000_000

/** A Date, or the number in the column's unit if a Date cannot represent it or an insert would round it. */
function dateOf(millis: number, isDay: boolean): Date | number {
  const isDate = Math.abs(millis) <= maxMillis && millis % dayMillis === 0
  if (isDate) return new Date(millis)
  return isDay ? millis / dayMillis : millis
}

function momentOf(value: bigint, scale: bigint): Date | bigint {
  const millis = Number(value * scale)
  return Math.abs(millis) <= maxMillis ? new Date(millis) : value
}
