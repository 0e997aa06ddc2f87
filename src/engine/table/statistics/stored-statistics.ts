import { type DataType, type Schema, Type } from '@uwdata/flechette'
import type { Scalar } from '../../predicate/plan/plan.ts'
import type { ColumnStatistics } from '../../predicate/prune/statistics.ts'
import { sourcePath } from '../format/column-source.ts'
import { type FragmentEntry, filesOf } from '../format/manifest.ts'
import type { TableSchema } from '../format/table-schema.ts'
import type { FragmentStatistics } from './column-statistics.ts'
import { pathKey } from './column-statistics.ts'

/**
 * Statistics in a manifest, by field path. 64-bit integers, `NaN`, infinities and `-0` are texts, as JSON lacks them.
 */
export type StoredStatistics = Readonly<Record<string, StoredColumn>>

interface StoredColumn {
  readonly nulls?: number
  readonly min?: string | number | boolean
  readonly max?: string | number | boolean
  readonly nan?: boolean
  /** Which bounds were truncated; absent if both are exact. */
  readonly cut?: 'min' | 'max' | 'both'
}

export function storeStatistics(statistics: FragmentStatistics): StoredStatistics {
  return Object.fromEntries(Array.from(statistics, ([path, column]) => [path, storeColumn(column)]))
}

function storeColumn({ nullCount, min, max, hasNaN, minExact, maxExact }: ColumnStatistics): StoredColumn {
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
