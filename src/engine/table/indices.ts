import { type DataType, type Field, Type } from '@uwdata/flechette'
import { CatalogError, invalid } from '../../base/errors.ts'
import { quote } from '../../base/model/identifier.ts'
import { type IndexType, vectorIndexTypes } from '../../base/model/index-types.ts'
import { childFields } from '../arrow/layout.ts'
import { typeName } from '../arrow/type-name.ts'
import type { StoredIndex } from './format/manifest.ts'
import type { LoadedSnapshot } from './format/snapshot.ts'
import { idsOfSchema, type TableSchema } from './format/table-schema.ts'
import { Job } from './job.ts'
import { inOtherCase, resolve } from './read/projection.ts'
import { type Element, formatPath, vectorOf } from './search/vector-column.ts'
import type { Storage } from './storage/storage.ts'
import type { CheckedChange, NewIndex, TableIndex } from './table-engine.ts'
import { reviseManifest } from './write/write-manifest.ts'

/** Most indexes of a table, all of which its manifests name. */
const maxIndices = 1_000

/** The indexes of a version, by name, without those whose column was dropped or does not support them any more. */
export function indicesOf({ schema, body }: LoadedSnapshot): TableIndex[] {
  if (body.indices === undefined) return []
  const fields = new Map(fieldsInOrder(schema).map((found) => [found.id, found]))
  return body.indices.flatMap((index) => {
    const found = fields.get(index.field)
    return found && isIndexable(index.type, found.field.type) ? [{ ...index, column: found.name }] : []
  })
}

/** Records indexes. They have no data: searches and queries read all rows, with the same result. */
export function createIndicesChange(storage: Storage, wanted: readonly NewIndex[]): CheckedChange {
  return indicesChange(storage, (base) => {
    let indices: StoredIndex[] = [...(base.body.indices ?? [])]
    for (const index of wanted) indices = withIndex({ ...base, body: { ...base.body, indices } }, index)
    return indices
  })
}

/** Removes the record of an index. */
export function dropIndexChange(storage: Storage, name: string): CheckedChange {
  return indicesChange(storage, (base) => {
    const all = indicesOf(base)
    requireIndex(all, name)
    return all.filter((index) => index.name !== name).map(toStored)
  })
}

/** A change of the recorded indexes to those that `plan` returns. */
function indicesChange(storage: Storage, plan: (base: LoadedSnapshot) => StoredIndex[]): CheckedChange {
  return {
    check: (base) => void plan(base as LoadedSnapshot),
    async apply(base, options) {
      const job = new Job(storage, options)
      const snapshot = base as LoadedSnapshot
      const indices = plan(snapshot)
      return { snapshot: await reviseManifest(job, snapshot, { indices }), affected: 0 }
    },
  }
}

/** The index of that name. Throws `TableIndexNotFound`. */
export function requireIndex(indices: readonly TableIndex[], name: string): TableIndex {
  const found = indices.find((index) => index.name === name)
  if (found) return found
  const names = indices.map((index) => JSON.stringify(index.name))
  throw new CatalogError(
    'TableIndexNotFound',
    `The table has no index ${quote(name)}. ${names.length === 0 ? 'It has none; create one first.' : `Its indexes are ${names.slice(0, 20).join(', ')}${names.length > 20 ? ` and ${names.length - 20} more` : ''}.`}`,
  )
}

/** The indexes of the table, with the new one. */
function withIndex(base: LoadedSnapshot, wanted: NewIndex): StoredIndex[] {
  const { path, field } = inOtherCase(base.schema, wanted.column) ?? resolve(base.schema, wanted.column)
  const found = fieldsInOrder(base.schema).find((one) => one.path.join() === path.join())
  if (found === undefined) throw invalid(`${wanted.column} names rows, and needs no index.`)
  const { id, name: column } = found
  const { type } = wanted
  const parameters = isVectorIndex(type)
    ? { distance_type: defaultDistance(field.type), ...wanted.parameters }
    : wanted.parameters
  checkIndexable(type, column, field.type, parameters.distance_type as string | undefined)
  const all = indicesOf(base)
  const name = wanted.name ?? freeName(all, `${column}_idx`, id, type)
  const taken = all.find((index) => index.name === name)
  if (taken && (wanted.replace === false || taken.field !== id)) {
    throw new CatalogError(
      'TableIndexAlreadyExists',
      `The index ${quote(name)} already exists, of type ${taken.type} on column ${quote(taken.column)}. Give another name, or drop that one first.`,
    )
  }
  const others = all.filter((index) => index !== taken)
  if (others.length >= maxIndices) {
    throw invalid(`The table has ${others.length} indexes, the most of one table. Drop one first.`)
  }
  const index = { name, uuid: wanted.uuid, field: id, type, created_at: wanted.createdAt, parameters }
  return [...others.map(toStored), index].sort((a, b) => (a.name < b.name ? -1 : 1))
}

/** The name of an index without a given name: the first free one, or that of the index it replaces. */
function freeName(all: readonly TableIndex[], name: string, field: number, type: IndexType): string {
  for (let n = 1; ; n++) {
    const candidate = n === 1 ? name : `${name}_${n}`
    const taken = all.find((index) => index.name === candidate)
    if (taken === undefined || (taken.field === field && taken.type === type)) return candidate
  }
}

function toStored({ column: _, ...index }: TableIndex): StoredIndex {
  return index
}

interface FoundField {
  readonly id: number
  readonly path: readonly number[]
  /** The path in the syntax of requests. */
  readonly name: string
  readonly field: Field
}

/** All fields of a schema with their ids, each followed by those within it. */
function fieldsInOrder(schema: TableSchema): FoundField[] {
  const ids = idsOfSchema(schema)
  const found: FoundField[] = []
  const visit = (field: Field, path: readonly number[], names: readonly string[]) => {
    found.push({ id: ids[found.length]!, path, name: formatPath(names), field })
    for (const [i, child] of childFields(field.type).entries())
      visit(child, [...path, i], [...names, child.name])
  }
  for (const [i, field] of schema.fields.entries()) visit(field, [i], [field.name])
  return found
}

/** Whether it is an index of vectors. */
function isVectorIndex(type: IndexType): type is (typeof vectorIndexTypes)[number] {
  return (vectorIndexTypes as readonly string[]).includes(type)
}

/** Refuses a column whose type such an index does not support, as in LanceDB. */
function checkIndexable(type: IndexType, column: string, of: DataType, distance: string | undefined): void {
  if (!isVectorIndex(type)) {
    if (!scalarTypes[type](of)) throw unfit(type, column, of, scalarNeeds[type])
    return
  }
  const vector = vectorOf(of)
  if (vector === undefined) throw unfit(type, column, of, 'a fixed-size list of floats or bytes')
  if (distance === 'hamming' && !isBytes(vector.element)) {
    throw invalid(
      `An index of type ${type} by distance ${distance} cannot be on column ${quote(column)}, whose vectors are of ${vector.element}. Use l2, cosine or dot.`,
    )
  }
}

/** Whether an index may remain on a column whose type has changed. */
function isIndexable(type: IndexType, of: DataType): boolean {
  return isVectorIndex(type) ? vectorOf(of) !== undefined : scalarTypes[type](of)
}

/** The distance of a vector index if the request names none. */
function defaultDistance(of: DataType): string {
  const element = vectorOf(of)?.element
  return element !== undefined && isBytes(element) ? 'hamming' : 'l2'
}

function isBytes(element: Element): boolean {
  return element === 'int8' || element === 'uint8'
}

function unfit(type: IndexType, column: string, of: DataType, needed: string): CatalogError {
  return invalid(
    `An index of type ${type} cannot be on column ${quote(column)} of type ${typeName(of)}. It needs ${needed}.`,
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
