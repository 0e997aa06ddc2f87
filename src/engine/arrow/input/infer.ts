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
import { invalid } from '../../../base/errors.ts'
import { quote } from '../../../base/model/identifier.ts'
import { maxDepth } from '../ipc/schema.ts'

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

/** Infers the type of a column or nested field from its values, added one by one: see `toArrowTable`. */
export class Inference {
  readonly #path: string
  /** How many lists and objects are around the values. */
  readonly #depth: number
  #kind: string | undefined
  /** The row of the first value that is not null. */
  #first = 0
  #items: Inference | undefined
  readonly #fields = new Map<string, Inference>()
  readonly #lengths = new Set<number>()

  constructor(path = '', depth = -1) {
    this.#path = path
    this.#depth = depth
  }

  add(value: unknown, row: number): void {
    if (value === null || value === undefined) return
    const kind = kindOf(value)
    if (kind === undefined || kind !== this.#kind) this.#begin(kind, value, row)
    switch (kind) {
      case 'number':
      case 'bigint':
      case 'string':
      case 'boolean':
      case 'Date':
      case 'Uint8Array':
        break
      case 'array':
        this.#items ??= this.#within('item', row)
        for (const item of value as readonly unknown[]) this.#items.add(item, row)
        break
      case 'object':
        this.addFields(value as Readonly<Record<string, unknown>>, row)
        break
      default:
        this.#lengths.add((value as ArrayLike<unknown>).length)
    }
  }

  /** Adds the values of an object, each to the field with its name. */
  addFields(object: Readonly<Record<string, unknown>>, row: number): void {
    for (const name of Object.keys(object)) {
      let field = this.#fields.get(name)
      if (field === undefined) {
        field = this.#within(name, row)
        this.#fields.set(name, field)
      }
      field.add(object[name], row)
    }
  }

  /** The fields of the added objects, in the order of first occurrence. */
  get fields(): Field[] {
    return Array.from(this.#fields, ([name, field]) => fieldOf(name, field.#type()))
  }

  /** The inference of what lies within the values. A value that holds itself would have no end. */
  #within(name: string, row: number): Inference {
    const depth = this.#depth + 1
    if (depth <= maxDepth) return new Inference(this.#path === '' ? name : `${this.#path}.${name}`, depth)
    throw invalid(
      `Column ${quote(this.#path)} holds a value in row ${row} that nests deeper than ${maxDepth} levels, or that holds itself. Flatten it.`,
    )
  }

  #begin(kind: string | undefined, value: unknown, row: number): void {
    const column = JSON.stringify(this.#path)
    if (kind === undefined) {
      throw invalid(
        `Column ${column} holds ${described(value)} in row ${row}, which has no Arrow type. ${value instanceof Map ? 'Give a schema with a map, or make it an object.' : 'Convert it first.'}`,
      )
    }
    if (this.#kind !== undefined) {
      throw invalid(
        `Column ${column} holds a ${this.#kind} in row ${this.#first} and a ${kind} in row ${row}. ` +
          'Make them the same, or give a schema.',
      )
    }
    this.#kind = kind
    this.#first = row
  }

  #type(): DataType {
    switch (this.#kind) {
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
        return list(fieldOf('item', this.#items === undefined ? nullType() : this.#items.#type()))
      case 'object':
        return { typeId: Type.Struct, children: this.fields }
      default:
        return typedArrayType(this.#kind, this.#lengths)
    }
  }
}

function fieldOf(name: string, type: DataType): Field {
  return { name, type, nullable: true, metadata: null as unknown as Map<string, string> }
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
  if (typeof value !== 'object') return typeof value
  // A class may have no name, and an object may have a member called `constructor`.
  const name: unknown = value.constructor?.name
  return typeof name === 'string' && name !== '' ? name.slice(0, 64) : 'object'
}

/** The kind of a value as a part of a sentence: `a Map`, `an Object`, `null`. */
export function described(value: unknown): string {
  const kind = describe(value)
  if (value === null || value === undefined) return kind
  return `${/^[aeiou]/i.test(kind) ? 'an' : 'a'} ${kind}`
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

/** The names of all values in the objects, in the order of first occurrence. */
export function keysOf(objects: readonly Readonly<Record<string, unknown>>[]): string[] {
  const names = new Set<string>()
  for (const object of objects) for (const name of Object.keys(object)) names.add(name)
  return [...names]
}

/** The object's own value; undefined if it has none. The name may be `constructor` or `__proto__`. */
export function ownValue(object: Readonly<Record<string, unknown>>, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined
}

/** The type of vectors: lists of fixed size when all have the same length. */
function typedArrayType(kind: string, lengths: ReadonlySet<number>): DataType {
  const type = itemTypes.find(([array]) => array.name === kind)![1]()
  const item = fieldOf('item', type)
  return lengths.size === 1 ? fixedSizeList(item, [...lengths][0]!) : list(item)
}
