import { type DataType, type Field, Type } from '@uwdata/flechette'
import { CatalogError } from '../../../base/errors.ts'
import { unknownColumns } from '../../../base/model/unknown-columns.ts'
import { type AnyBatch, type BatchParts, emptyBytes, makeBatch, makeColumn, type Values } from '../batch.ts'
import { storeWords } from '../decimals.ts'
import { childFields, layoutOf } from '../layout.ts'
import { ValueMap } from '../value-map.ts'
import { type CellPosition, encodeNumber, valueMismatch } from './build-scalars.ts'
import { type Cells, isPlainObject, itemsOf, keysOf, ownValue } from './infer.ts'

/** Marks the value of a field whose struct is null. */
const insideNull = Symbol('insideNull')

/**
 * A batch of JavaScript values, each checked against the field's type. Throws `TableSchemaValidationError` with the row
 * and the column of a value that does not fit.
 */
export function buildBatch(field: Field, { values, rows }: Cells, column = field.name): AnyBatch {
  const { type } = field
  const length = values.length
  const validity = new Uint8Array(Math.ceil(length / 8))
  let nullCount = 0
  for (let i = 0; i < length; i++) {
    const value = values[i]
    if (value !== null && value !== undefined && value !== insideNull) {
      validity[i >> 3]! |= 1 << (i & 7)
      continue
    }
    nullCount++
    if (!field.nullable && value !== insideNull) {
      throw new CatalogError(
        'TableSchemaValidationError',
        `Row ${rows[i]} has no value in column ${JSON.stringify(column)}, which must not be null. Give it one.`,
      )
    }
  }
  const parts = buildParts(type, { values, rows }, column)
  const nulls = nullCount > 0 ? { validity, nullCount } : { validity: emptyBytes, nullCount }
  return makeBatch(type, { length, ...nulls, ...parts })
}

function isNullish(value: unknown): boolean {
  return value === null || value === undefined || value === insideNull
}

function buildParts(type: DataType, cells: Cells, column: string): Partial<BatchParts> {
  const { values, rows } = cells
  const position = (i: number): CellPosition => ({ column, row: rows[i]! })
  const layout = layoutOf(type)
  switch (layout.kind) {
    case 'null': {
      const at = values.findIndex((value) => !isNullish(value))
      if (at >= 0) throw valueMismatch(position(at), values[at], 'nulls only')
      return { nullCount: values.length }
    }
    case 'bits': {
      const bits = new Uint8Array(Math.ceil(values.length / 8))
      for (const [i, value] of values.entries()) {
        if (isNullish(value)) continue
        if (typeof value !== 'boolean') throw valueMismatch(position(i), value, 'true or false')
        if (value) bits[i >> 3]! |= 1 << (i & 7)
      }
      return { values: bits }
    }
    case 'fixed':
      if (type.typeId === Type.FixedSizeBinary) return { values: fixedBytes(layout.bytes, cells, position) }
      if (type.typeId === Type.Interval) throw unsupported(column, 'intervals')
      return { values: numbers(type, cells, position) }
    case 'bytes':
      return layout.text
        ? texts(layout.offsets, cells, position)
        : joined(layout.offsets, bytesOf(cells, false, position))
    case 'views':
      return views(bytesOf(cells, layout.text, position))
    case 'list': {
      const { starts, items } = lists(type, cells, position)
      const offsets =
        layout.offsets === Int32Array ? Int32Array.from(starts) : BigInt64Array.from(starts, BigInt)
      return { offsets, children: [buildBatch(childFields(type)[0]!, items, `${column}.item`)] }
    }
    case 'listView': {
      const { starts, items } = lists(type, cells, position)
      const sizes = values.map((_, i) => starts[i + 1]! - starts[i]!)
      const array = (list: number[]) =>
        layout.offsets === Int32Array ? Int32Array.from(list) : BigInt64Array.from(list, BigInt)
      const child = buildBatch(childFields(type)[0]!, items, `${column}.item`)
      return { offsets: array(starts.slice(0, -1)), sizes: array(sizes), children: [child] }
    }
    case 'fixedList':
      return { children: [fixedLists(type, layout.stride, cells, column, position)] }
    case 'struct':
      return { children: structs(childFields(type), cells, column, position) }
    case 'dictionary':
      return dictionary(type, cells, column)
    case 'runEnds': {
      const [ends, item] = childFields(type) as [Field, Field]
      const each = { values: values.map((_, i) => i + 1), rows }
      return {
        nullCount: 0,
        validity: emptyBytes,
        children: [buildBatch(ends, each, column), buildBatch({ ...item, nullable: true }, cells, column)],
      }
    }
    case 'union':
      throw unsupported(column, 'unions')
  }
}

function unsupported(column: string, what: string): CatalogError {
  return new CatalogError(
    'TableSchemaValidationError',
    `Column ${JSON.stringify(column)} takes ${what}, which cannot be written as row objects. Send Arrow data.`,
  )
}

function numbers(type: DataType, { values }: Cells, position: (i: number) => CellPosition): Values {
  const layout = layoutOf(type)
  if (layout.kind !== 'fixed') throw new TypeError('no type of numbers')
  const width = layout.bytes / layout.array.BYTES_PER_ELEMENT
  const target = new layout.array(values.length * width)
  for (const [i, value] of values.entries()) {
    if (isNullish(value)) continue
    const number = encodeNumber(type, value, position(i))
    if (width === 1) target[i] = number as never
    else storeWords(target, i, width, number as bigint)
  }
  return target
}

const utf8 = new TextEncoder()

function bytesOf({ values }: Cells, text: boolean, position: (i: number) => CellPosition): Uint8Array[] {
  return values.map((value, i) => {
    if (isNullish(value)) return emptyBytes
    if (!text) return binary(value, position(i))
    return utf8.encode(textOf(value, i, position))
  })
}

const halfPair = /\p{Surrogate}/u

function textOf(value: unknown, i: number, position: (i: number) => CellPosition): string {
  if (typeof value !== 'string') throw valueMismatch(position(i), value, 'text')
  if (halfPair.test(value)) throw valueMismatch(position(i), value, 'text without half surrogate pairs')
  return value
}

/** Texts, encoded into one buffer: a buffer for each of them takes twice as long. */
function texts(
  array: typeof Int32Array | typeof BigInt64Array,
  { values }: Cells,
  position: (i: number) => CellPosition,
): Partial<BatchParts> {
  const offsets = new array(values.length + 1)
  let room = 0
  for (const value of values) if (typeof value === 'string') room += value.length
  let bytes = new Uint8Array(room)
  let at = 0
  for (let i = 0; i < values.length; i++) {
    const value = values[i]
    if (!isNullish(value)) {
      const text = textOf(value, i, position)
      // Most texts are ASCII, with a byte for each character. Others take three at most.
      let { read, written } = utf8.encodeInto(text, bytes.subarray(at))
      if (read < text.length) {
        const larger = new Uint8Array(2 * bytes.length + 3 * text.length)
        larger.set(bytes.subarray(0, at))
        bytes = larger
        ;({ read, written } = utf8.encodeInto(text, bytes.subarray(at)))
      }
      at += written
    }
    offsets[i + 1] = (offsets instanceof Int32Array ? at : BigInt(at)) as never
  }
  return { offsets, values: at === bytes.length ? bytes : bytes.slice(0, at) }
}

function binary(value: unknown, position: CellPosition): Uint8Array {
  if (value instanceof Uint8Array) return value
  if (value instanceof ArrayBuffer) return new Uint8Array(value)
  throw valueMismatch(position, value, 'a Uint8Array')
}

function fixedBytes(stride: number, { values }: Cells, position: (i: number) => CellPosition): Uint8Array {
  const target = new Uint8Array(values.length * stride)
  for (const [i, value] of values.entries()) {
    if (isNullish(value)) continue
    const bytes = binary(value, position(i))
    if (bytes.length !== stride) throw valueMismatch(position(i), value, `exactly ${stride} bytes`)
    target.set(bytes, i * stride)
  }
  return target
}

function joined(
  array: typeof Int32Array | typeof BigInt64Array,
  parts: readonly Uint8Array[],
): Partial<BatchParts> {
  const offsets = new array(parts.length + 1)
  let at = 0
  for (const [i, part] of parts.entries()) {
    at += part.length
    offsets[i + 1] = (offsets instanceof Int32Array ? at : BigInt(at)) as never
  }
  const values = new Uint8Array(at)
  at = 0
  for (const part of parts) {
    values.set(part, at)
    at += part.length
  }
  return { offsets, values }
}

function views(parts: readonly Uint8Array[]): Partial<BatchParts> {
  const values = new Uint8Array(parts.length * 16)
  const target = new DataView(values.buffer)
  const long = joined(
    Int32Array,
    parts.map((part) => (part.length > 12 ? part : emptyBytes)),
  )
  for (const [i, part] of parts.entries()) {
    target.setInt32(i * 16, part.length, true)
    values.set(part.length > 12 ? part.subarray(0, 4) : part, i * 16 + 4)
    if (part.length > 12) target.setInt32(i * 16 + 12, long.offsets![i] as number, true)
  }
  return { values, data: [long.values as Uint8Array] }
}

/** The items of all lists, and where each list begins among them. The items of a map are its entries. */
function lists(type: DataType, { values, rows }: Cells, position: (i: number) => CellPosition) {
  const starts = [0]
  const listed = values.map((value, i) => {
    if (isNullish(value)) return null
    const items = type.typeId === Type.Map ? entriesOf(type, value, position(i)) : value
    if (!isList(items))
      throw valueMismatch(position(i), value, type.typeId === Type.Map ? 'a Map' : 'an array')
    return items
  })
  for (const [i, items] of listed.entries()) starts.push(starts[i]! + (items?.length ?? 0))
  return { starts, items: itemsOf(listed, rows) }
}

function isList(value: unknown): value is ArrayLike<unknown> & Iterable<unknown> {
  return Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView))
}

function entriesOf(type: DataType, value: unknown, position: CellPosition): unknown {
  const [key, item] = childFields(childFields(type)[0]!.type) as [Field, Field]
  if (!(value instanceof Map) && !Array.isArray(value)) throw valueMismatch(position, value, 'a Map')
  return Array.from(value, (entry: unknown) => {
    if (!Array.isArray(entry) || entry.length !== 2)
      throw valueMismatch(position, entry, 'pairs of key and value')
    return Object.fromEntries([
      [key.name, entry[0]],
      [item.name, entry[1]],
    ])
  })
}

function fixedLists(
  type: DataType,
  stride: number,
  { values, rows }: Cells,
  column: string,
  position: (i: number) => CellPosition,
): AnyBatch {
  const items: unknown[] = []
  const itemRows: number[] = []
  for (const [i, value] of values.entries()) {
    if (!isNullish(value) && !(isList(value) && value.length === stride)) {
      throw valueMismatch(position(i), value, `arrays of exactly ${stride} values`)
    }
    for (let k = 0; k < stride; k++) {
      items.push(isNullish(value) ? insideNull : (value as ArrayLike<unknown>)[k])
      itemRows.push(rows[i]!)
    }
  }
  return buildBatch(childFields(type)[0]!, { values: items, rows: itemRows }, `${column}.item`)
}

function structs(
  fields: readonly Field[],
  { values, rows }: Cells,
  column: string,
  position: (i: number) => CellPosition,
): AnyBatch[] {
  const names = new Set(fields.map(({ name }) => name))
  for (const [i, value] of values.entries()) {
    if (isNullish(value)) continue
    if (!isPlainObject(value)) throw valueMismatch(position(i), value, 'an object')
    const given = keysOf([value])
    if (given.some((key) => !names.has(key))) throw unknownFields(given, names, rows[i]!, `${column}.`)
  }
  return fields.map((field) => {
    const inner = values.map((value) =>
      isNullish(value) ? insideNull : ownValue(value as Record<string, unknown>, field.name),
    )
    return buildBatch(field, { values: inner, rows }, `${column}.${field.name}`)
  })
}

/** The error for names in a row that are not in the schema. `path` leads to the fields of a struct. */
export function unknownFields(
  given: readonly string[],
  known: ReadonlySet<string>,
  row: number,
  path = '',
): CatalogError {
  const of = (names: readonly string[]) => names.map((name) => path + name)
  const unknown = of(given.filter((name) => !known.has(name)))
  return new CatalogError(
    'TableSchemaValidationError',
    `Row ${row}: ${unknownColumns(unknown, of([...known]), 'schema')}`,
  )
}

function dictionary(type: DataType, { values, rows }: Cells, column: string): Partial<BatchParts> {
  if (type.typeId !== Type.Dictionary) throw new TypeError('no dictionary type')
  const indexes = new ValueMap()
  const entries: unknown[] = []
  const entryRows: number[] = []
  const indices = values.map((value, i) => {
    if (isNullish(value)) return 0
    // 0 stands for -0, too, so each -0 gets an entry of its own.
    const known = Object.is(value, -0) ? entries.length : indexes.add(value, entries.length)
    if (known < entries.length) return known
    entryRows.push(rows[i]!)
    return entries.push(value) - 1
  })
  const item: Field = { name: column, type: type.dictionary, nullable: false, metadata: new Map() }
  const batch = buildBatch(item, { values: entries, rows: entryRows }, column)
  const bits = type.indices.bitWidth - (type.indices.signed ? 1 : 0)
  if (entries.length > 2 ** bits) {
    throw new CatalogError(
      'TableSchemaValidationError',
      `Column ${JSON.stringify(column)} has ${entries.length} different values, too many for its dictionary's ${bits}-bit indices. Use wider ones.`,
    )
  }
  const array = type.indices.values
  const typed = new array(indices.length)
  const big = typed instanceof BigInt64Array || typed instanceof BigUint64Array
  for (const [i, index] of indices.entries()) typed[i] = (big ? BigInt(index) : index) as never
  return { values: typed, dictionary: makeColumn(type.dictionary, [batch]) }
}
