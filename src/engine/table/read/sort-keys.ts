import { type DataType, type Schema, Type } from '@uwdata/flechette'
import { CatalogError, invalid } from '../../../base/errors.ts'
import { quote } from '../../../base/model/identifier.ts'
import { type AnyBatch, dictionaryOf } from '../../arrow/batch.ts'
import { getBit } from '../../arrow/bitmap.ts'
import { unscaledReader } from '../../arrow/decimals.ts'
import { halves } from '../../arrow/half.ts'
import { layoutOf } from '../../arrow/layout.ts'
import { typeName } from '../../arrow/type-name.ts'
import type { Ordering } from '../table-engine.ts'
import { type ColumnPick, resolve } from './projection.ts'

/** A value of a sort key. Texts are bytes, whose order is that of their code points. */
export type SortValue = number | bigint | Uint8Array | null

/** A key that rows are sorted by. */
export interface SortKey {
  readonly name: string
  readonly path: readonly number[]
  /** 1 for ascending, -1 for descending. */
  readonly direction: 1 | -1
  readonly nullsFirst: boolean
}

/** Most sort keys, unless the caller sets another limit. */
const defaultMaxKeys = 64

/**
 * The sort keys, without those that have no effect: repeated ones, and all after the row id. Throws for a column that
 * is missing or not sortable, and for too many keys.
 */
export function sortKeys(schema: Schema, orderBy: readonly Ordering[], maxKeys?: number): SortKey[] {
  return effectiveKeys(orderBy, (ordering) => sortKey(schema, ordering), schema.fields.length, maxKeys)
}

/** The keys that have an effect, one for each such ordering. Columns from `rowColumns` on identify a row. */
export function effectiveKeys(
  orderBy: readonly Ordering[],
  make: (ordering: Ordering) => SortKey,
  rowColumns: number,
  maxKeys: number = defaultMaxKeys,
): SortKey[] {
  const names = new Set<string>()
  const keys = new Map<string, SortKey>()
  let isDecided = false
  for (const ordering of orderBy) {
    if (names.has(ordering.column)) continue
    names.add(ordering.column)
    const key = make(ordering)
    const pathKey = key.path.join()
    if (keys.has(pathKey) || isDecided) continue
    if (keys.size === maxKeys) {
      throw invalid(
        `order_by has more than ${maxKeys} keys, which is the most. Sort by fewer columns, or open the catalog with a larger orderKeys.`,
      )
    }
    keys.set(pathKey, key)
    isDecided = key.path[0]! >= rowColumns
  }
  return [...keys.values()]
}

function sortKey(schema: Schema, { column, descending = false, nullsFirst = false }: Ordering): SortKey {
  const { path, field } = columnOf(schema, column)
  if (!isSortable(field.type)) {
    throw invalid(
      `order_by names ${quote(column)} of type ${typeName(field.type)}, whose values have no order here. Sort by a column of numbers, texts, bytes, times or flags, or by a field of a struct.`,
    )
  }
  return { name: column, path, direction: descending ? -1 : 1, nullsFirst }
}

function columnOf(schema: Schema, column: string): ColumnPick {
  try {
    return resolve(schema, column)
  } catch (error) {
    if (!(error instanceof CatalogError && /\s/.test(column))) throw error
    throw new CatalogError(
      error.code,
      `${error.message} A key of order_by is a column, then asc or desc, then nulls first or nulls last.`,
    )
  }
}

function isSortable(type: DataType): boolean {
  if (type.typeId === Type.Dictionary) return isSortable(type.dictionary)
  switch (layoutOf(type).kind) {
    case 'null':
    case 'bits':
    case 'bytes':
    case 'views':
      return true
    case 'fixed':
      return type.typeId !== Type.Interval
    default:
      return false
  }
}

/** Reads the values of a key in a fragment. */
export function sortReader(batch: AnyBatch): (row: number) => SortValue {
  const read = valueReader(batch)
  if (batch.type.typeId === Type.Null) return () => null
  if (batch.nullCount === 0) return read
  const { validity } = batch
  return (row) => (getBit(validity, row) ? read(row) : null)
}

function valueReader(batch: AnyBatch): (row: number) => SortValue {
  const { type } = batch
  if (type.typeId === Type.Dictionary) {
    const entries = dictionaryOf(batch).data.flatMap((part) => {
      const read = sortReader(part as AnyBatch)
      return Array.from({ length: part.length }, (_, i) => read(i))
    })
    const codes = batch.values as Int32Array
    return (row) => entries[Number(codes[row])] ?? null
  }
  const layout = layoutOf(type)
  switch (layout.kind) {
    case 'bits': {
      const bits = batch.values as Uint8Array
      return (row) => (getBit(bits, row) ? 1 : 0)
    }
    case 'bytes': {
      const bytes = batch.values as Uint8Array
      const { offsets } = batch
      return (row) => bytes.subarray(Number(offsets[row]), Number(offsets[row + 1]))
    }
    case 'views':
      return (row) => {
        const value = batch.at(row) as unknown as string | Uint8Array
        return typeof value === 'string' ? Buffer.from(value) : value
      }
    default:
      return fixedReader(batch)
  }
}

function fixedReader(batch: AnyBatch): (row: number) => SortValue {
  const { type } = batch
  const values = batch.values as Float64Array
  if (type.typeId === Type.FixedSizeBinary) {
    const bytes = batch.values as Uint8Array
    return (row) => bytes.subarray(row * type.stride, (row + 1) * type.stride)
  }
  if (type.typeId === Type.Decimal && type.bitWidth > 32) return unscaledReader(values, type.bitWidth)
  if (type.typeId === Type.Float && type.precision === 0) {
    const table = halves()
    return (row) => table[values[row]!]!
  }
  return (row) => values[row]!
}

/** Compares two values of a key: NaN after every other number, -0 before 0. */
export function compareKey({ direction, nullsFirst }: SortKey, a: SortValue, b: SortValue): number {
  if (a === null || b === null) {
    if (a === b) return 0
    return (a === null) === nullsFirst ? -1 : 1
  }
  return direction * compareValues(a, b)
}

function compareValues(a: NonNullable<SortValue>, b: NonNullable<SortValue>): number {
  if (typeof a === 'object') return Buffer.compare(a, b as Uint8Array)
  if (a < (b as number)) return -1
  if (a > (b as number)) return 1
  if (typeof a === 'bigint') return 0
  if (a === b) return a !== 0 || Object.is(a, b) ? 0 : Object.is(a, -0) ? -1 : 1
  return Number(Number.isNaN(a)) - Number(Number.isNaN(b))
}

export function bound(name: string, value: number | undefined): number | undefined {
  if (value === undefined) return undefined
  if (!Number.isSafeInteger(value) || value < 0) {
    throw invalid(`The ${name} is ${value}. Give a whole number of rows, 0 or more.`)
  }
  return value
}
