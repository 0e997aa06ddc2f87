import { type DataType, type Field, type Schema, Type } from '@uwdata/flechette'
import { type CatalogError, invalid } from '../../../base/errors.ts'
import { quote } from '../../../base/model/identifier.ts'
import { roundToHalf } from '../../arrow/half.ts'
import { resolve } from '../read/projection.ts'
import type { Measure, QueryVector } from './measures.ts'

/** The type of a vector's components. */
export type Element = 'float16' | 'float32' | 'float64' | 'int8' | 'uint8'

/** A column whose values are vectors, or lists of them. */
export interface VectorColumn {
  /** In the syntax of requests. */
  readonly name: string
  readonly path: readonly number[]
  readonly dimension: number
  readonly element: Element
  /** Whether a row has a list of vectors, which are searched together: late interaction. */
  readonly isList: boolean
}

/** The component type of vectors in a column of this type; undefined if it has neither vectors nor lists of them. */
export function vectorOf(type: DataType): Pick<VectorColumn, 'dimension' | 'element' | 'isList'> | undefined {
  if (type.typeId === Type.List || type.typeId === Type.LargeList) {
    const item = vectorOf(type.children[0]!.type)
    return item && !item.isList ? { ...item, isList: true } : undefined
  }
  if (type.typeId !== Type.FixedSizeList) return undefined
  const item = type.children[0]!.type
  const element =
    item.typeId === Type.Float
      ? (['float16', 'float32', 'float64'] as const)[item.precision]
      : item.typeId === Type.Int && item.bitWidth === 8
        ? item.signed
          ? ('int8' as const)
          : ('uint8' as const)
        : undefined
  return element && { dimension: type.stride, element, isList: false }
}

/** All vector columns among fields, those within structs included. `names` and `path` are of the struct around them. */
function vectorColumns(
  fields: readonly Field[],
  names: readonly string[] = [],
  path: readonly number[] = [],
): VectorColumn[] {
  const found: VectorColumn[] = []
  for (const [i, { name, type }] of fields.entries()) {
    const vector = vectorOf(type)
    if (vector) found.push({ name: formatPath([...names, name]), path: [...path, i], ...vector })
    else if (type.typeId === Type.Struct)
      found.push(...vectorColumns(type.children, [...names, name], [...path, i]))
  }
  return found
}

/** A path in the syntax of requests: names with dots between, in backticks if a name has a dot itself. */
export function formatPath(names: readonly string[]): string {
  return names.map((name) => (/[.`]/.test(name) ? `\`${name.replaceAll('`', '``')}\`` : name)).join('.')
}

/** The column to search: the named one, or else the only one whose vectors have the length of the query's. */
export function columnToSearch(schema: Schema, name: string | undefined, dimension: number): VectorColumn {
  if (name !== undefined) {
    const column = namedColumn(schema, name)
    if (column.dimension !== dimension) throw otherDimension(column, dimension)
    return column
  }
  const all = vectorColumns(schema.fields)
  const fitting = all.filter((column) => column.dimension === dimension)
  if (fitting.length === 1) return fitting[0]!
  if (all.length === 0) {
    throw invalid(
      'No vector column found to search in the table. Vectors are lists of a fixed size, of float16, float32, float64, int8 or uint8, or lists of such.',
    )
  }
  if (all.length === 1) throw otherDimension(all[0]!, dimension)
  const list = all.map(({ name, dimension }) => `${quote(name)} (${dimension})`).join(', ')
  throw invalid(
    `${fitting.length === 0 ? 'No column' : `${fitting.length} columns`} of vectors fit the query vector of dimension ${dimension}: the columns and their dimensions are ${list}. ${fitting.length === 0 ? 'Give a vector of one of these dimensions.' : 'Name the one to search in vector_column.'}`,
  )
}

function namedColumn(schema: Schema, name: string): VectorColumn {
  const { path, field } = resolve(schema, name)
  const vector = vectorOf(field.type)
  if (vector === undefined) {
    throw invalid(
      `Column ${quote(name)} does not hold vectors. Vectors are lists of a fixed size, of float16, float32, float64, int8 or uint8, or lists of such. Name another one in vector_column.`,
    )
  }
  return { name, path, ...vector }
}

function otherDimension(column: VectorColumn, dimension: number): CatalogError {
  return invalid(
    `The query dim(${dimension}) doesn't match the column ${column.name} vector dim(${column.dimension}). Give a vector of dimension ${column.dimension}.`,
  )
}

/** The measure of a search, if the request names none: differing bits for unsigned bytes, as in Lance. */
export function measureFor(column: VectorColumn, wanted: Measure | undefined): Measure {
  const measure = wanted ?? (column.element === 'uint8' ? 'hamming' : 'l2')
  if (measure === 'hamming' && !isBytes(column)) {
    throw invalid(
      `Distance type hamming counts the bits of bytes, and column ${quote(column.name)} holds ${column.element}. Use l2, cosine or dot.`,
    )
  }
  return measure
}

function isBytes({ element }: VectorColumn): boolean {
  return element === 'int8' || element === 'uint8'
}

/** A query vector as values of the column, so that a row that was stored from it is at distance 0. */
export function queryVector(column: VectorColumn, given: readonly number[], index: number): QueryVector {
  const values = new Float64Array(given.length)
  let sum = 0
  for (let i = 0; i < given.length; i++) {
    const value = given[i]!
    const own = storedAs[column.element](value)
    if (own === undefined || !Number.isFinite(own)) {
      throw invalid(
        `Component ${i} of query vector ${index} is ${value}, which is no ${column.element} as column ${quote(column.name)} holds. Give ${isBytes(column) ? `whole numbers from ${column.element === 'int8' ? '-128 to 127' : '0 to 255'}` : 'numbers that it can hold'}.`,
      )
    }
    values[i] = own
    sum += own * own
  }
  return { values, norm: Math.sqrt(sum) }
}

const within = (least: number, most: number) => (value: number) =>
  Number.isInteger(value) && value >= least && value <= most ? value : undefined

const storedAs: Readonly<Record<Element, (value: number) => number | undefined>> = {
  float16: roundToHalf,
  float32: Math.fround,
  float64: (value) => value,
  int8: within(-128, 127),
  uint8: within(0, 255),
}
