import { type DataType, type Schema, Type } from '@uwdata/flechette'
import { type AnyBatch, dictionaryOf, emptyBytes } from '../../arrow/batch.ts'
import { countBits } from '../../arrow/bitmap.ts'
import type { Scalar } from '../../predicate/plan/plan.ts'
import type { ColumnStatistics } from '../../predicate/prune/statistics.ts'
import { type Bounds, floatBounds, integerBounds, longBounds, type Present, textBounds } from './bounds.ts'
import { sourcePath } from './column-source.ts'
import type { StoredColumnStatistics, StoredStatistics } from './manifest.ts'
import { type FragmentEntry, filesOf } from './manifest.ts'
import type { TableSchema } from './table-schema.ts'

/** Statistics by field path: the column's index, then the index of a child in each struct on the way. */
type FragmentStatistics = ReadonlyMap<string, ColumnStatistics>

/** The key of a path in `FragmentStatistics`. */
export function pathKey(path: readonly number[]): string {
  return path.join('.')
}

/**
 * Adds the statistics of a column, and of the fields of structs in it. `outer` are the rows with a value in the struct
 * around it.
 */
export function addStatistics(
  batch: AnyBatch,
  path: readonly number[],
  into: Map<string, ColumnStatistics>,
  outer: Present = { bits: emptyBytes, nulls: 0 },
  rows: number = batch.length,
): void {
  const present = presentIn(batch, outer, rows)
  const { typeId } = batch.type
  // Unions and run-end encoded arrays have no null bitmap of their own.
  if (typeId !== Type.Union && typeId !== Type.RunEndEncoded)
    into.set(pathKey(path), { nullCount: present.nulls, ...bounds(batch, present, rows) })
  if (typeId !== Type.Struct || path.length > 8) return
  for (const [i, child] of batch.children.entries()) addStatistics(child, [...path, i], into, present, rows)
}

/** Rows that have a value in the batch and in the struct around it. */
function presentIn(batch: AnyBatch, outer: Present, rows: number): Present {
  if (batch.type.typeId === Type.Null) return { bits: new Uint8Array(Math.ceil(rows / 8)), nulls: rows }
  const own = batch.nullCount > 0 ? batch.validity : emptyBytes
  if (outer.nulls === 0 && batch.length === rows) return { bits: own, nulls: batch.nullCount }
  const bits = new Uint8Array(Math.ceil(rows / 8))
  for (let i = 0; i < bits.length; i++) {
    bits[i] = (own.length > 0 ? own[i]! : 255) & (outer.nulls > 0 ? outer.bits[i]! : 255)
  }
  return { bits, nulls: rows - countBits(bits, rows) }
}

function bounds(batch: AnyBatch, present: Present, rows: number): Bounds {
  const { type } = batch
  if (present.nulls === rows) return {}
  switch (type.typeId) {
    case Type.Bool:
      return bitBounds(batch.values as Uint8Array, present, rows)
    case Type.Int:
    case Type.Time:
    case Type.Date:
      return batch.values instanceof BigInt64Array || batch.values instanceof BigUint64Array
        ? longBounds(batch.values, present, rows)
        : integerBounds(batch.values as Int32Array, present, rows)
    case Type.Timestamp:
    case Type.Duration:
      return longBounds(batch.values as BigInt64Array, present, rows)
    case Type.Decimal:
      // Bounds are unscaled values of up to 64 bits only.
      if (type.bitWidth === 32) {
        const { min, max } = integerBounds(batch.values as Int32Array, present, rows)
        return { min: BigInt(min as number), max: BigInt(max as number) }
      }
      if (type.bitWidth !== 64) return {}
      return longBounds(signed(batch.values as BigUint64Array), present, rows)
    case Type.Float:
      return type.precision === 0 ? {} : floatBounds(batch.values as Float64Array, present, rows)
    case Type.Utf8:
    case Type.LargeUtf8:
      return textBounds(batch, present, rows)
    case Type.Dictionary:
      return dictionaryBounds(batch, present, rows)
    default:
      return {}
  }
}

function signed(values: BigUint64Array): BigInt64Array {
  return new BigInt64Array(values.buffer, values.byteOffset, values.length)
}

function bitBounds(values: Uint8Array, present: Present, rows: number): Bounds {
  let some = false
  let all = true
  for (let i = 0; i < Math.ceil(rows / 8) && (all || !some); i++) {
    const inside = i === rows >> 3 ? (1 << (rows & 7)) - 1 : 255
    const counted = (present.nulls > 0 ? present.bits[i]! : 255) & inside
    if ((values[i]! & counted) !== 0) some = true
    if ((values[i]! & counted) !== counted) all = false
  }
  return { min: all, max: some }
}

/** Bounds of the entries in use. A row is null if its index is null or its entry is. */
function dictionaryBounds(batch: AnyBatch, present: Present, rows: number): Partial<ColumnStatistics> {
  const dictionary = dictionaryOf(batch)
  const entries = dictionary.data[0]
  if (dictionary.data.length !== 1 || entries === undefined)
    throw new TypeError('a dictionary in several pieces')
  const indices = batch.values as Int32Array
  const uses = new Uint32Array(entries.length)
  for (let i = 0; i < rows; i++) {
    if (present.nulls === 0 || ((present.bits[i >> 3]! >> (i & 7)) & 1) === 1) uses[Number(indices[i])]!++
  }
  const bits = new Uint8Array(Math.ceil(entries.length / 8))
  let used = 0
  let nulls = present.nulls
  for (let i = 0; i < uses.length; i++) {
    if (uses[i] === 0) continue
    if (entries.nullCount > 0 && !entries.isValid(i)) {
      nulls += uses[i]!
      continue
    }
    bits[i >> 3]! |= 1 << (i & 7)
    used++
  }
  const inner = bounds(entries, { bits, nulls: entries.length - used }, entries.length)
  return { ...inner, nullCount: nulls } as Partial<ColumnStatistics>
}

export function storeStatistics(statistics: FragmentStatistics): StoredStatistics {
  const stored: Record<string, StoredColumnStatistics> = {}
  for (const [path, column] of statistics) stored[path] = storeColumn(column)
  return stored
}

function storeColumn({
  nullCount,
  min,
  max,
  hasNaN,
  minExact,
  maxExact,
}: ColumnStatistics): StoredColumnStatistics {
  const cut =
    minExact === false ? (maxExact === false ? 'both' : 'min') : maxExact === false ? 'max' : undefined
  return {
    ...(nullCount === 0 ? {} : { nulls: nullCount }),
    ...(min === undefined ? {} : { min: storeScalar(min) }),
    ...(max === undefined ? {} : { max: storeScalar(max) }),
    ...(hasNaN === undefined ? {} : { nan: hasNaN }),
    ...(cut === undefined ? {} : { cut }),
  }
}

function storeScalar(value: Scalar): string | number | boolean {
  if (typeof value === 'number')
    return Number.isFinite(value) && !Object.is(value, -0) ? value : numberText(value)
  if (typeof value === 'bigint') return String(value)
  if (typeof value === 'string' || typeof value === 'boolean') return value
  throw new TypeError('a bound is a number, a text or a boolean')
}

function numberText(value: number): string {
  return Object.is(value, -0) ? '-0' : String(value)
}

/** The statistics of the field at a path of the table; undefined if the manifest has none. */
export function statisticsIn(
  entry: FragmentEntry,
  schema: TableSchema,
  path: readonly number[],
): ColumnStatistics | undefined {
  const { columns } = schema
  if (columns === undefined || columns.fits(entry)) return statisticsAt(entry.statistics, schema, path)
  const location = columns.locationsIn(entry)[path[0]!]
  if (location === undefined) return { nullCount: entry.rows }
  const file = filesOf(entry)[location.file]!
  const within = sourcePath(location.source, path)
  return within && statisticsAt(file.statistics, columns.schemaOf(file.layout ?? ''), within)
}

/** The same for the path in a file that has these columns. */
export function statisticsAt(
  stored: StoredStatistics,
  schema: Schema,
  path: readonly number[],
): ColumnStatistics | undefined {
  const key = pathKey(path)
  const column = Object.hasOwn(stored, key) ? stored[key] : undefined
  const type = column && typeAt(schema, path)
  if (!column || !type) return undefined
  const { nulls = 0, min, max, nan, cut } = column
  return {
    nullCount: nulls,
    ...(min === undefined ? {} : { min: loadScalar(min, type), minExact: cut !== 'min' && cut !== 'both' }),
    ...(max === undefined ? {} : { max: loadScalar(max, type), maxExact: cut !== 'max' && cut !== 'both' }),
    ...(nan === undefined ? {} : { hasNaN: nan }),
  }
}

function typeAt(schema: Schema, path: readonly number[]): DataType | undefined {
  let type = schema.fields[path[0]!]?.type
  for (const index of path.slice(1))
    type = type?.typeId === Type.Struct ? type.children[index]?.type : undefined
  return type?.typeId === Type.Dictionary ? type.dictionary : type
}

function loadScalar(value: string | number | boolean, type: DataType): Scalar {
  if (typeof value !== 'string') return value
  if (type.typeId === Type.Utf8 || type.typeId === Type.LargeUtf8) return value
  return type.typeId === Type.Float ? Number(value) : BigInt(value)
}
