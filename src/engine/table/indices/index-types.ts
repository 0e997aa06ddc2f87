import { type DataType, Type } from '@uwdata/flechette'
import { type CatalogError, invalid } from '../../../base/errors.ts'
import { type IndexType, vectorIndexTypes } from '../../../base/model/index-types.ts'
import { childFields } from '../../arrow/layout.ts'
import { typeName } from '../../arrow/type-name.ts'
import { type Element, vectorOf } from '../search/vector-column.ts'

/** Whether it is an index of vectors. */
export function isVectorIndex(type: IndexType): type is (typeof vectorIndexTypes)[number] {
  return (vectorIndexTypes as readonly string[]).includes(type)
}

/** Refuses a column whose type such an index does not support, as in LanceDB. */
export function checkIndexable(
  type: IndexType,
  column: string,
  of: DataType,
  distance: string | undefined,
): void {
  if (!isVectorIndex(type)) {
    if (!scalarTypes[type](of)) throw unfit(type, column, of, scalarNeeds[type])
    return
  }
  const vector = vectorOf(of)
  if (vector === undefined) throw unfit(type, column, of, 'a fixed-size list of floats or bytes')
  if (distance === 'hamming' && !isBytes(vector.element)) {
    throw invalid(
      `An index of type ${type} by distance ${distance} cannot be on column ${JSON.stringify(column)}, whose vectors are of ${vector.element}. Use l2, cosine or dot.`,
    )
  }
}

/** Whether an index may remain on a column whose type has changed. */
export function isIndexable(type: IndexType, of: DataType): boolean {
  return isVectorIndex(type) ? vectorOf(of) !== undefined : scalarTypes[type](of)
}

/** The distance of a vector index if the request names none. */
export function defaultDistance(of: DataType): string {
  const element = vectorOf(of)?.element
  return element !== undefined && isBytes(element) ? 'hamming' : 'l2'
}

function isBytes(element: Element): boolean {
  return element === 'int8' || element === 'uint8'
}

function unfit(type: IndexType, column: string, of: DataType, needed: string): CatalogError {
  return invalid(
    `An index of type ${type} cannot be on column ${JSON.stringify(column)} of type ${typeName(of)}. It needs ${needed}.`,
  )
}

const textTypes = [Type.Utf8, Type.LargeUtf8, Type.Utf8View]
const binaryTypes = [Type.Binary, Type.LargeBinary, Type.BinaryView]
const valueTypes: ReadonlySet<number> = new Set([Type.Int, Type.Bool, ...textTypes])
const labelTypes: ReadonlySet<number> = new Set([...valueTypes, ...binaryTypes])
const sortedTypes: ReadonlySet<number> = new Set([
  ...valueTypes,
  Type.Float,
  Type.Time,
  Type.Date,
  Type.Timestamp,
  Type.FixedSizeBinary,
])
const byteTypes: ReadonlySet<number> = new Set([...textTypes, ...binaryTypes])
const listTypes: ReadonlySet<number> = new Set([
  Type.List,
  Type.LargeList,
  Type.FixedSizeList,
  Type.ListView,
  Type.LargeListView,
])

const scalarTypes = {
  BTREE: (type: DataType) => sortedTypes.has(valueType(type).typeId),
  BITMAP: (type: DataType) => labelTypes.has(valueType(type).typeId),
  LABEL_LIST: (type: DataType) =>
    listTypes.has(type.typeId) && labelTypes.has(valueType(childFields(type)[0]!.type).typeId),
  FM: (type: DataType) => byteTypes.has(valueType(type).typeId),
}

/** The type of the values, which a dictionary only encodes. */
function valueType(type: DataType): DataType {
  return type.typeId === Type.Dictionary ? type.dictionary : type
}

const scalarNeeds = {
  BTREE: 'numbers, booleans, strings, dates, times, timestamps or binaries of a fixed size',
  BITMAP: 'integers, booleans, strings or binaries',
  LABEL_LIST: 'a list of integers, booleans, strings or binaries',
  FM: 'strings or binaries',
}
