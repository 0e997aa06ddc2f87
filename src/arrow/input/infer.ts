import {
  binary,
  bool,
  type DataType,
  type Field,
  fixedSizeList,
  float32,
  float64,
  int8,
  int16,
  int32,
  int64,
  list,
  nullType,
  Type,
  timestamp,
  uint16,
  uint32,
  uint64,
  utf8,
} from '@uwdata/flechette'
import { invalid } from '../../errors.ts'

/** Values of one column or nested field, and the row of each value. */
export interface Cells {
  readonly values: readonly unknown[]
  readonly rows: readonly number[]
}

const itemTypes: readonly (readonly [
  abstract new (...args: never[]) => ArrayLike<unknown>,
  () => DataType,
])[] = [
  [Int8Array, int8],
  [Int16Array, int16],
  [Uint16Array, uint16],
  [Int32Array, int32],
  [Uint32Array, uint32],
  [BigInt64Array, int64],
  [BigUint64Array, uint64],
  [Float32Array, float32],
  [Float64Array, float64],
]

/** The field for values without a schema: see `toArrowTable`. */
export function inferField(name: string, cells: Cells, path = name): Field {
  return {
    name,
    type: inferType(cells, path),
    nullable: true,
    metadata: null as unknown as Map<string, string>,
  }
}

function inferType({ values, rows }: Cells, path: string): DataType {
  let kind: string | undefined
  let first = 0
  for (const [i, value] of values.entries()) {
    if (value === null || value === undefined) continue
    const found = kindOf(value)
    if (found === undefined) {
      throw invalid(
        `Column ${JSON.stringify(path)} holds a ${describe(value)} in row ${rows[i]}, which has no Arrow type. Convert it first.`,
      )
    }
    if (kind === undefined) {
      kind = found
      first = i
    } else if (kind !== found) {
      throw invalid(
        `Column ${JSON.stringify(path)} holds a ${kind} in row ${rows[first]} and a ${found} in row ${rows[i]}. ` +
          'Make them the same, or give a schema.',
      )
    }
  }
  switch (kind) {
    case undefined:
      return nullType()
    case 'number':
      return float64()
    case 'bigint':
      return int64()
    case 'string':
      return utf8()
    case 'boolean':
      return bool()
    case 'Date':
      return timestamp(1)
    case 'Uint8Array':
      return binary()
    case 'array':
      return list(inferField('item', itemsOf(values, rows), `${path}.item`))
    case 'object':
      return { typeId: Type.Struct, children: structFields(values, rows, path) }
    default:
      return typedArrayType(kind, values)
  }
}

function kindOf(value: unknown): string | undefined {
  if (typeof value === 'number' || typeof value === 'bigint') return typeof value
  if (typeof value === 'string' || typeof value === 'boolean') return typeof value
  if (value instanceof Date) return 'Date'
  if (value instanceof Uint8Array) return 'Uint8Array'
  if (Array.isArray(value)) return 'array'
  if (ArrayBuffer.isView(value)) return itemTypes.find(([array]) => value instanceof array)?.[0].name
  return isPlainObject(value) ? 'object' : undefined
}

/** Whether a value is an object of named values, and not an instance of a class. */
export function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return false
  const prototype = Object.getPrototypeOf(value)
  return prototype === null || prototype === Object.prototype || Object.getPrototypeOf(prototype) === null
}

/** The kind of a value, for errors. */
export function describe(value: unknown): string {
  if (value === null) return 'null'
  if (typeof value === 'object') return value.constructor?.name ?? 'object'
  return typeof value
}

/** The items of all lists, each with the row of its list. */
export function itemsOf(values: readonly unknown[], rows: readonly number[]): Cells {
  const items: unknown[] = []
  const itemRows: number[] = []
  for (const [i, value] of values.entries()) {
    if (value === null || value === undefined || typeof value === 'symbol') continue
    for (const item of value as ArrayLike<unknown> & Iterable<unknown>) {
      items.push(item)
      itemRows.push(rows[i]!)
    }
  }
  return { values: items, rows: itemRows }
}

function structFields(values: readonly unknown[], rows: readonly number[], path: string): Field[] {
  const present: Record<string, unknown>[] = []
  const presentRows: number[] = []
  for (const [i, value] of values.entries()) {
    if (value === null || value === undefined) continue
    present.push(value as Record<string, unknown>)
    presentRows.push(rows[i]!)
  }
  return keysOf(present).map((key) =>
    inferField(
      key,
      { values: present.map((row) => ownValue(row, key)), rows: presentRows },
      `${path}.${key}`,
    ),
  )
}

/** The names of all values in the objects, in the order they first come. */
export function keysOf(objects: readonly Readonly<Record<string, unknown>>[]): string[] {
  const names = new Set<string>()
  for (const object of objects) for (const name of Object.keys(object)) names.add(name)
  return [...names]
}

/** The object's own value; undefined when it has none. The name may be `constructor` or `__proto__`. */
export function ownValue(object: Readonly<Record<string, unknown>>, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined
}

/** The type of vectors: lists of fixed size when all have the same length. */
function typedArrayType(kind: string, values: readonly unknown[]): DataType {
  const type = itemTypes.find(([array]) => array.name === kind)![1]()
  const lengths = new Set<number>()
  for (const value of values)
    if (value !== null && value !== undefined) lengths.add((value as ArrayLike<unknown>).length)
  const item: Field = { name: 'item', type, nullable: true, metadata: null as unknown as Map<string, string> }
  return lengths.size === 1 ? fixedSizeList(item, [...lengths][0]!) : list(item)
}
