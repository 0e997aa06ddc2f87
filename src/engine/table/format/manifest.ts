import { createHash } from 'node:crypto'
import type { IndexType } from '../../../base/model/index-types.ts'
import * as sealed from '../../../base/model/sealed-json.ts'
import { brokenObject, type Range } from '../storage/objects.ts'

/** An immutable Arrow file of one record batch with columns of a fragment, and the byte ranges of its parts. */
export interface ColumnFile {
  /** Relative to the table's location, like every path in a manifest. In a clone, it may be outside of the location. */
  readonly path: string
  readonly size: number
  /** Rows in the file, deleted ones included. */
  readonly rows: number
  /** The metadata of the record batch, which precedes the body. */
  readonly batch: Range
  /** The part of the body for each column. */
  readonly columns: readonly Range[]
  /** Metadata and body of each dictionary, in the order of the schema's columns and fields. */
  readonly dictionaries?: readonly (readonly [metadata: Range, body: Range])[]
  /** CRC-32 of all bytes outside of these ranges: the schema, the footer, and the bytes between ranges. */
  readonly rest: number
  /**
   * Checksums of blocks, for reading and checking some rows of a column. Absent for a small file, and for one from an
   * older release. `rest` covers them, too, for releases that do not know them.
   */
  readonly blocks?: Range
  readonly statistics: StoredStatistics
  /** The key of its columns in the manifest's layouts; absent for the table's original columns. */
  readonly layout?: string
}

/** A fragment: some rows of a table. Its first file was written with the rows. */
export interface FragmentEntry extends ColumnFile {
  /** Files with columns that were added later, for the same rows. */
  readonly files?: readonly ColumnFile[]
  readonly deletions?: DeletionEntry
  /** Indexes of its values, at most one for each field. Releases that do not know them leave them as they are. */
  readonly indexes?: readonly IndexEntry[]
  /**
   * The id of its first row; the others follow. A snapshot sets it for every fragment, even if the manifest has no ids.
   */
  readonly firstId?: number
}

/** All files of a fragment, without its deletions. */
export function filesOf(entry: FragmentEntry): readonly ColumnFile[] {
  return entry.files === undefined ? [entry] : [entry, ...entry.files]
}

/** An object of a fragment. */
export type FragmentObject = ColumnFile | DeletionEntry | IndexEntry

/** All objects of a fragment: its files, its deletions and its indexes. */
export function objectsOf(entry: FragmentEntry): readonly FragmentObject[] {
  const { deletions, indexes } = entry
  const files = filesOf(entry)
  if (deletions === undefined && indexes === undefined) return files
  return [...files, ...(deletions ? [deletions] : []), ...indexesOf(entry)]
}

/** The indexes of a fragment, without those that an older release left behind. */
export function indexesOf({ path, indexes }: Pick<FragmentEntry, 'path' | 'indexes'>): readonly IndexEntry[] {
  return indexes === undefined ? none : indexes.filter(({ of }) => of === path)
}

const none: readonly IndexEntry[] = []

/** The paths of all objects of a fragment. */
export function pathsOf(entry: FragmentEntry): string[] {
  return objectsOf(entry).map(({ path }) => path)
}

/** A fragment whose objects have the paths that `rename` returns. */
export function withPaths(entry: FragmentEntry, rename: (path: string) => string): FragmentEntry {
  const { path, files, deletions, indexes } = entry
  return {
    ...entry,
    path: rename(path),
    ...(files && { files: files.map((file) => ({ ...file, path: rename(file.path) })) }),
    ...(deletions && { deletions: { ...deletions, path: rename(deletions.path) } }),
    ...(indexes && {
      indexes: indexesOf(entry).map((index) => ({ ...index, path: rename(index.path), of: rename(path) })),
    }),
  }
}

/** Identifies the content of a fragment's columns, by the names of its files. */
export function contentKey({ path, files }: Pick<FragmentEntry, 'path' | 'files'>): string {
  return files === undefined ? path : [path, ...files.map((file) => file.path)].join(' ')
}

/** All ranges of a fragment with a checksum of their own, in file order. */
export function rangesOf({
  batch,
  columns,
  dictionaries = [],
}: Pick<ColumnFile, 'batch' | 'columns' | 'dictionaries'>): Range[] {
  return [batch, ...columns, ...dictionaries.flat()]
    .filter(([, length]) => length > 0)
    .sort(([a], [b]) => a - b)
}

/** The part of an entry that is needed for reading the fragment. */
export type FragmentLayout = Omit<FragmentEntry, 'statistics' | 'files' | 'indexes'> & {
  readonly files?: readonly Omit<ColumnFile, 'statistics'>[]
}

/** The part of an entry that is needed for reading the fragment. */
export function layoutOfEntry({
  statistics: _,
  indexes: __,
  files,
  ...layout
}: FragmentEntry): FragmentLayout {
  if (files === undefined) return layout
  return { ...layout, files: files.map(({ statistics: _, ...file }) => file) }
}

/** The columns of some files: a schema, and the ids of its fields, each followed by those within it. */
export interface StoredLayout {
  /** An Arrow IPC stream without rows, in base64. Names may have changed since. */
  readonly schema: string
  readonly ids: readonly number[]
}

/** The columns of a table after columns were added or dropped. */
export interface StoredColumns {
  /** Ids of the schema's fields, each followed by those within it. An id is never used for another field. */
  readonly ids: readonly number[]
  /** The next free id. */
  readonly nextId: number
  /** The key of the layout with exactly these columns. */
  readonly layout: string
  /** The other layouts of files, by key. The key '' is that of the table's original columns. */
  readonly layouts: Readonly<Record<string, StoredLayout>>
  /** Whether items of lists took a type, so that files have such lists with items of the type null. */
  readonly typedItems?: true
}

/**
 * The deleted rows of a fragment. They are stored in an Arrow file of one boolean column, true for deleted rows. The
 * file has a record batch for each fragment that the same change deleted rows from.
 */
export interface DeletionEntry {
  readonly path: string
  /** The whole file's size and CRC-32. */
  readonly size: number
  readonly crc: number
  /** The values of this fragment's batch. */
  readonly bits: Range
  readonly count: number
}

/**
 * An index of the values of a field in a fragment: for the hash of a value, the rows that may have it. Several indexes
 * may share a file.
 */
export interface IndexEntry {
  readonly path: string
  /** The whole file's size and CRC-32. */
  readonly size: number
  readonly crc: number
  /**
   * The path of the fragment's first file. Older releases rename that alone when they copy or share the fragment. Then
   * the index is no object of the table.
   */
  readonly of: string
  /** The id of the field. Its values in a fragment never change: other values have another id. */
  readonly field: number
  /** Where each bucket of hashes begins, and its checksum. */
  readonly buckets: Range
  /** The hashes and rows of all buckets. */
  readonly rows: Range
}

/** The sums over some fragments. */
export interface Totals {
  /** Rows not deleted. */
  readonly rows: number
  readonly deletedRows: number
  readonly fragments: number
  readonly bytes: number
}

/** A full group of fragment entries, stored in an object of its own. */
export interface SegmentEntry extends Totals {
  /** The id of its first row, for segments of older manifests, whose entries have none. */
  readonly firstId?: number
  readonly path: string
  readonly size: number
  readonly etag: string
  /** The layouts of its files; absent if all have the table's original columns. */
  readonly layouts?: readonly string[]
}

export interface ManifestBody extends Totals {
  /** An Arrow IPC stream without rows, in base64. */
  readonly schema: string
  /** The schema metadata, which can be replaced without changing the schema. */
  readonly metadata: readonly (readonly [string, string])[]
  /** The indexes by name; absent if there are none. */
  readonly indices?: readonly StoredIndex[] | undefined
  /** Absent if all files have the columns of the schema. */
  readonly columns?: StoredColumns | undefined
  /** The folders of other tables whose files it uses, as in `ManifestRef`. Absent if all files are its own. */
  readonly bases?: readonly string[] | undefined
  /** Fragments in row order: those of the segments first, then the tail. */
  readonly segments: readonly SegmentEntry[]
  readonly tail: readonly FragmentEntry[]
  /** The next free row id. Manifests without it are older than row ids: their rows are numbered by position. */
  readonly nextId?: number
}

/** Adds the ids of first rows to entries. Those without ids are numbered consecutively. */
export function withIds(entries: readonly FragmentEntry[], nextId: number): readonly FragmentEntry[] {
  let numbered: FragmentEntry[] | undefined
  let next = nextId
  for (const [i, entry] of entries.entries()) {
    if (entry.firstId !== undefined) continue
    numbered ??= [...entries]
    numbered[i] = { ...entry, firstId: next }
    next += entry.rows
  }
  return numbered ?? entries
}

/** Adds row ids to the body of a manifest: in an older one they are consecutive. */
export function withRowIds(body: ManifestBody): ManifestBody {
  if (body.nextId !== undefined) return body
  let nextId = 0
  const segments = body.segments.map((segment) => {
    const firstId = nextId
    nextId += segment.rows + segment.deletedRows
    return { ...segment, firstId }
  })
  for (const { firstId, rows } of body.tail) {
    if (firstId !== undefined) nextId = Math.max(nextId, firstId + rows)
  }
  const tail = withIds(body.tail, nextId)
  for (const { firstId, rows } of tail) nextId = Math.max(nextId, firstId! + rows)
  return { ...body, segments, tail, nextId }
}

/** The kinds of JSON objects that a table has. */
export type Kind = 'manifest' | 'segment'
const formatVersion = 4

/**
 * The bytes of a JSON object of a table, with its checksum. Format 1 has no `columns`, and format 2 no files of other
 * tables, so that earlier releases can read them. Before format 4 all lists in files have items of the table's type.
 */
export function seal(
  kind: Kind,
  text: string,
  has: { columns: boolean; bases: boolean; typedItems?: boolean },
): Uint8Array {
  return sealed.seal(kind, has.typedItems ? 4 : has.bases ? 3 : has.columns ? 2 : 1, text)
}

const texts = new WeakMap<FragmentEntry, string>()

/** An entry as JSON, cached, since most entries of a manifest are also in the next one. */
export function entryText(entry: FragmentEntry): string {
  let text = texts.get(entry)
  if (text === undefined) {
    text = JSON.stringify(entry)
    texts.set(entry, text)
  }
  return text
}

/** Entries as JSON: the body of a segment. */
export function entriesText(entries: readonly FragmentEntry[]): string {
  return `[${entries.map(entryText).join(',')}]`
}

/** The body of a manifest as JSON. */
export function manifestText({ tail, ...rest }: ManifestBody): string {
  return `${JSON.stringify(rest).slice(0, -1)},"tail":${entriesText(tail)}}`
}

/** The body of an object that `seal` wrote. Throws `InvalidTableState` for any other bytes. */
export function unseal<T>(
  kind: Kind,
  path: string,
  bytes: Uint8Array,
  ref: { size: number; etag: string },
): T {
  const found = sealed.unseal(kind, formatVersion, bytes)
  if ('fault' in found) throw brokenObject(path, found.fault)
  if (bytes.length !== ref.size || (ref.etag !== '' && etagOf(bytes) !== ref.etag)) {
    throw brokenObject(path, 'is not the one that was committed')
  }
  return found.body as T
}

/** Identifies bytes: the first half of their SHA-256, in hex. */
export function etagOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex').slice(0, 32)
}

export function refOf(path: string, bytes: Uint8Array, bases?: ManifestRef['bases']): ManifestRef {
  return { path, size: bytes.length, etag: etagOf(bytes), ...(bases && { bases }) }
}

/** The totals of entries or segments. */
export function totalsOf(entries: readonly FragmentEntry[], segments: readonly SegmentEntry[] = []): Totals {
  let rows = 0
  let deletedRows = 0
  let fragments = entries.length
  let bytes = 0
  for (const entry of entries) {
    const deleted = entry.deletions?.count ?? 0
    rows += entry.rows - deleted
    deletedRows += deleted
    bytes += entry.size
    if (entry.files) for (const { size } of entry.files) bytes += size
  }
  for (const segment of segments) {
    rows += segment.rows
    deletedRows += segment.deletedRows
    fragments += segment.fragments
    bytes += segment.bytes
  }
  return { rows, deletedRows, fragments, bytes }
}

/** The layouts of the files, in order. */
export function layoutsOf(
  entries: readonly FragmentEntry[],
  segments: readonly SegmentEntry[] = [],
): ReadonlySet<string> {
  const found = new Set<string>()
  for (const { layout = '', files } of entries) {
    found.add(layout)
    if (files) for (const file of files) found.add(file.layout ?? '')
  }
  for (const { layouts = [''] } of segments) for (const layout of layouts) found.add(layout)
  return found
}

/** An index in the form of a manifest. */
export interface StoredIndex {
  readonly name: string
  readonly uuid: string
  /** The id of its field, which does not change when columns are renamed. */
  readonly field: number
  readonly type: IndexType
  /** Milliseconds since the epoch. */
  readonly created_at: number
  /** The options of the request, such as `distance_type` and `num_partitions`. */
  readonly parameters: IndexParameters
}

export type IndexParameters = Readonly<Record<string, string | number>>

/** Refers to the manifest of a table version. `path` is relative to the table's location. */
export interface ManifestRef {
  readonly path: string
  readonly size: number
  readonly etag: string
  /**
   * The folders of other tables whose files the version may use, relative to the table's location, each ending in a
   * slash. A manifest with any others is refused.
   */
  readonly bases?: readonly string[] | undefined
}

/**
 * Statistics in a manifest, by field path. 64-bit integers, `NaN`, infinities and `-0` are texts, as JSON lacks them.
 */
export type StoredStatistics = Readonly<Record<string, StoredColumnStatistics>>

/** A fragment's file before it is written: its bytes, and its manifest entry. */
export interface EncodedFile extends Omit<ColumnFile, 'path'> {
  readonly parts: readonly Uint8Array[]
}

export interface StoredColumnStatistics {
  readonly nulls?: number
  readonly min?: string | number | boolean
  readonly max?: string | number | boolean
  readonly nan?: boolean
  /** Which bounds were truncated; absent if both are exact. */
  readonly cut?: 'min' | 'max' | 'both'
}
