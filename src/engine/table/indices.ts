import { type DataType, Type } from '@uwdata/flechette'
import { CatalogError, invalid } from '../../base/errors.ts'
import { quote } from '../../base/model/identifier.ts'
import { type IndexType, vectorIndexTypes } from '../../base/model/index-types.ts'
import { noIndex } from '../../base/model/missing-index.ts'
import { childFields, isList } from '../arrow/layout.ts'
import { typeName } from '../arrow/type-name.ts'
import { valueType } from '../predicate/evaluate/scalar.ts'
import type { StoredIndex } from './format/manifest.ts'
import { fragmentsOf, type LoadedSnapshot } from './format/snapshot.ts'
import { IndexBuilder } from './indexes/index-builder.ts'
import { fieldsInOrder, hasFiles, indexIn, minIndexedRows, withIndexesOf } from './indexes/indexed-fields.ts'
import { Job } from './job.ts'
import { inOtherCase, resolve } from './read/projection.ts'
import { liveRowsOf } from './scan/row-columns.ts'
import { type Element, formatPath, vectorOf } from './search/vector-column.ts'
import type { ReadStorage } from './storage/objects.ts'
import type { Storage } from './storage/storage.ts'
import type { CheckedChange, IndexCoverage, NewIndex, PreparedChange, TableIndex } from './table-engine.ts'
import { reviseFragments, reviseManifest } from './write/write-manifest.ts'

/** Most indexes of a table, all of which its manifests name. */
const maxIndices = 1_000

/** The indexes of a version, by name, without those whose column was dropped or does not support them any more. */
export function indicesOf({ schema, body }: LoadedSnapshot): TableIndex[] {
  if (body.indices === undefined) return []
  const fields = new Map(fieldsInOrder(schema).map((found) => [found.id, found]))
  return body.indices.flatMap((index) => {
    const found = fields.get(index.field)
    return found && isIndexable(index.type, found.field.type)
      ? [{ ...index, column: formatPath(found.names) }]
      : []
  })
}

/**
 * Records indexes, and writes the files of those that find rows by equal values. The others are records only. Queries and
 * searches have the same result with and without any of them.
 */
export function createIndicesChange(storage: Storage, wanted: readonly NewIndex[]): PreparedChange {
  const builder = new IndexBuilder()
  const plan = (base: LoadedSnapshot): StoredIndex[] => {
    let indices: StoredIndex[] = [...(base.body.indices ?? [])]
    for (const index of wanted) indices = withIndex({ ...base, body: { ...base.body, indices } }, index)
    return indices
  }
  const uuids = new Set(wanted.map(({ uuid }) => uuid))
  /** Writes the files for the fragments of a base, unless that was done for an earlier one. */
  const build = async (job: Job, base: LoadedSnapshot, indices: readonly StoredIndex[]) => {
    const ids = new Set(
      indices.filter((index) => hasFiles(index) && uuids.has(index.uuid)).map(({ field }) => field),
    )
    const fields = ids.size === 0 ? [] : fieldsInOrder(base.schema).filter(({ id }) => ids.has(id))
    if (fields.length === 0) return fields
    for await (const entry of fragmentsOf(storage, base)) {
      await builder.add(job, base, entry, fields)
      job.report(entry.rows, base.rows + base.deletedRows)
      if (job.due) await job.rest()
    }
    await builder.finish(job, base)
    return fields
  }
  return {
    check: (base) => void plan(base as LoadedSnapshot),
    async prepare(base, options) {
      const snapshot = base as LoadedSnapshot
      await build(new Job(storage, options), snapshot, plan(snapshot))
    },
    async apply(base, { signal, version } = {}) {
      const job = new Job(storage, { signal, version })
      const snapshot = base as LoadedSnapshot
      const indices = plan(snapshot)
      const fields = await build(job, snapshot, indices)
      const parts =
        fields.length === 0
          ? {}
          : await reviseFragments(job, snapshot, (entry) => builder.with(entry, fields))
      return { snapshot: await reviseManifest(job, snapshot, { indices, ...parts }), affected: 0 }
    },
  }
}

/** Removes the record of an index, and its files from the fragments unless another index needs them. */
export function dropIndexChange(storage: Storage, name: string): CheckedChange {
  const plan = (base: LoadedSnapshot): StoredIndex[] => {
    const all = indicesOf(base)
    requireIndex(all, name)
    return all.filter((index) => index.name !== name).map(toStored)
  }
  return {
    check: (base) => void plan(base as LoadedSnapshot),
    async apply(base, options) {
      const job = new Job(storage, options)
      const snapshot = base as LoadedSnapshot
      const indices = plan(snapshot)
      const parts = await reviseFragments(job, snapshot, (entry) => withIndexesOf(indices, entry))
      return { snapshot: await reviseManifest(job, snapshot, { indices, ...parts }), affected: 0 }
    },
  }
}

/**
 * What the fragments of a version have of each index. An index without files covers all rows, as queries and searches
 * answer from all of them.
 */
export async function coverageOf(
  storage: ReadStorage,
  snapshot: LoadedSnapshot,
  indices: readonly TableIndex[],
): Promise<IndexCoverage[]> {
  const found = indices.map(() => ({ indexedRows: 0, bytes: 0, files: new Set<string>() }))
  if (indices.some(hasFiles)) {
    for await (const entry of fragmentsOf(storage, snapshot)) {
      for (const [i, { field }] of indices.entries()) {
        const one = found[i]!
        const index = indexIn(entry, field)
        if (index || entry.rows < minIndexedRows) one.indexedRows += liveRowsOf(entry)
        if (index === undefined) continue
        one.bytes += index.buckets[1] + index.rows[1]
        one.files.add(index.path)
      }
    }
  }
  return found.map(({ indexedRows, bytes, files }, i) => {
    const covered = hasFiles(indices[i]!) ? indexedRows : snapshot.rows
    return { indexedRows: covered, unindexedRows: snapshot.rows - covered, bytes, files: files.size }
  })
}

/** The index of that name. Throws `TableIndexNotFound`. */
export function requireIndex(indices: readonly TableIndex[], name: string): TableIndex {
  const found = indices.find((index) => index.name === name)
  if (found) return found
  throw noIndex(
    name,
    indices.map((index) => index.name),
  )
}

/** The indexes of the table, with the new one. */
function withIndex(base: LoadedSnapshot, wanted: NewIndex): StoredIndex[] {
  const { path, field } = inOtherCase(base.schema, wanted.column) ?? resolve(base.schema, wanted.column)
  const found = fieldsInOrder(base.schema).find((one) => one.path.join() === path.join())
  if (found === undefined) throw invalid(`${wanted.column} names rows, and needs no index.`)
  const { id } = found
  const column = formatPath(found.names)
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
const scalarTypes = {
  BTREE: (type: DataType) => sortedTypes.has(valueType(type).typeId),
  BITMAP: (type: DataType) => labelTypes.has(valueType(type).typeId),
  LABEL_LIST: (type: DataType) =>
    isList(type) && labelTypes.has(valueType(childFields(type)[0]!.type).typeId),
  FM: (type: DataType) => byteTypes.has(valueType(type).typeId),
}

const scalarNeeds = {
  BTREE: 'numbers, booleans, strings, dates, times, timestamps or binaries of a fixed size',
  BITMAP: 'integers, booleans, strings or binaries',
  LABEL_LIST: 'a list of integers, booleans, strings or binaries',
  FM: 'strings or binaries',
}
