import { createHash } from 'node:crypto'
import * as sealed from '../../../base/model/sealed-json.ts'
import type { StoredIndex } from '../indices/stored-index.ts'
import type { StoredStatistics } from '../statistics/stored-statistics.ts'
import { brokenObject, type Range } from '../storage/objects.ts'
import type { ManifestRef } from '../table-engine.ts'

/** An immutable Arrow file of one record batch with columns of a fragment, and the byte ranges of its parts. */
export interface ColumnFile {
  /** Relative to the table's location, like every path in a manifest. Of a clone, it may lead out of there. */
  readonly path: string
  readonly size: number
  /** Rows in the file, deleted ones included. */
  readonly rows: number
  /** The metadata of the record batch; its body follows. */
  readonly batch: Range
  /** The body's part for each column. */
  readonly columns: readonly Range[]
  /** Metadata and body of each dictionary, in the order their columns and fields come in the schema. */
  readonly dictionaries?: readonly (readonly [metadata: Range, body: Range])[]
  /** CRC-32 of all bytes outside of these ranges: the schema, the footer, and what lies between. */
  readonly rest: number
  /**
   * Checksums of blocks, by which some rows of a column are read and checked alone. Absent for a small file, and for
   * one that an older release wrote. They are among `rest`, too, for releases that do not know them.
   */
  readonly blocks?: Range
  readonly statistics: StoredStatistics
  /** Which columns it has, as a key of the manifest's layouts; absent for those the table began with. */
  readonly layout?: string
}

/** A fragment: some rows of a table. Its first file was written with the rows. */
export interface FragmentEntry extends ColumnFile {
  /** Files with columns that the table got later, of the same rows. */
  readonly files?: readonly ColumnFile[]
  readonly deletions?: DeletionEntry
  /** The id of its first row; the others follow. Set for every fragment of a snapshot, also of manifests without ids. */
  readonly firstId?: number
}

/** All files of a fragment, without its deletions. */
export function filesOf(entry: FragmentEntry): readonly ColumnFile[] {
  return entry.files === undefined ? [entry] : [entry, ...entry.files]
}

/** All objects of a fragment: its files and its deletions. */
export function objectsOf(entry: FragmentEntry): readonly (ColumnFile | DeletionEntry)[] {
  const files = filesOf(entry)
  return entry.deletions === undefined ? files : [...files, entry.deletions]
}

/** The paths of all objects of a fragment. */
export function pathsOf(entry: FragmentEntry): string[] {
  return objectsOf(entry).map(({ path }) => path)
}

/** A fragment whose objects have other paths: those that `rename` gives. */
export function withPaths(entry: FragmentEntry, rename: (path: string) => string): FragmentEntry {
  const { path, files, deletions } = entry
  return {
    ...entry,
    path: rename(path),
    ...(files && { files: files.map((file) => ({ ...file, path: rename(file.path) })) }),
    ...(deletions && { deletions: { ...deletions, path: rename(deletions.path) } }),
  }
}

/** Identifies what a fragment's columns are, by the names of its files. */
export function contentKey({ path, files }: Pick<FragmentEntry, 'path' | 'files'>): string {
  return files === undefined ? path : [path, ...files.map((file) => file.path)].join(' ')
}

/** All ranges of a fragment that have a checksum of their own, in the order of the file. */
export function rangesOf({
  batch,
  columns,
  dictionaries = [],
}: Pick<ColumnFile, 'batch' | 'columns' | 'dictionaries'>): Range[] {
  return [batch, ...columns, ...dictionaries.flat()]
    .filter(([, length]) => length > 0)
    .sort(([a], [b]) => a - b)
}

/** The part of an entry that reading the fragment needs. */
export type FragmentLayout = Omit<FragmentEntry, 'statistics' | 'files'> & {
  readonly files?: readonly Omit<ColumnFile, 'statistics'>[]
}

/** The part of an entry that reading the fragment needs. */
export function layoutOfEntry({ statistics: _, files, ...layout }: FragmentEntry): FragmentLayout {
  if (files === undefined) return layout
  return { ...layout, files: files.map(({ statistics: _, ...file }) => file) }
}

/** The columns that some files have: a schema, and the ids of its fields, each before those within it. */
export interface StoredLayout {
  /** An Arrow IPC stream without rows, in base64. Names may have changed since. */
  readonly schema: string
  readonly ids: readonly number[]
}

/** The columns of a table to which some were added, or from which some were dropped. */
export interface StoredColumns {
  /** Ids of the schema's fields, each before those within it. No field gets the id of another, or of one before it. */
  readonly ids: readonly number[]
  /** The id that the next new field gets. */
  readonly nextId: number
  /** The key of the layout with exactly these columns. */
  readonly layout: string
  /** The other layouts that files have, by key. The key '' stands for the columns that the table began with. */
  readonly layouts: Readonly<Record<string, StoredLayout>>
}

/**
 * The deleted rows of a fragment. They lie in an Arrow file of one boolean column, true for deleted rows. The file has
 * a record batch for each fragment that the same change deleted rows from.
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

/** The sums over some fragments. */
export interface Totals {
  /** Rows not deleted. */
  readonly rows: number
  readonly deletedRows: number
  readonly fragments: number
  readonly bytes: number
}

/** A full group of fragment entries, in an object of its own. */
export interface SegmentEntry extends Totals {
  /** The id of its first row, where its entries have none, as those of older manifests. */
  readonly firstId?: number
  readonly path: string
  readonly size: number
  readonly etag: string
  /** The layouts of the files in it; absent when all have the columns that the table began with. */
  readonly layouts?: readonly string[]
}

export interface ManifestBody extends Totals {
  /** An Arrow IPC stream without rows, in base64. */
  readonly schema: string
  /** The schema metadata, which is replaced without touching the schema. */
  readonly metadata: readonly (readonly [string, string])[]
  /** The indexes by name; absent where there are none. */
  readonly indices?: readonly StoredIndex[] | undefined
  /** Absent for a table whose files all have the columns of the schema. */
  readonly columns?: StoredColumns | undefined
  /** The folders of other tables that files may lie in, as those of a `ManifestRef`. Absent where all files are its own. */
  readonly bases?: readonly string[] | undefined
  /** Fragments in the order of their rows: those of the segments first, then the tail. */
  readonly segments: readonly SegmentEntry[]
  readonly tail: readonly FragmentEntry[]
  /** The id that the next row gets. Manifests without it are older than row ids: rows have their places for ids. */
  readonly nextId?: number
}

/** Entries with the ids of their first rows. Those that have none follow each other. */
export function withIds(entries: readonly FragmentEntry[], nextId: number): readonly FragmentEntry[] {
  if (entries.every(({ firstId }) => firstId !== undefined)) return entries
  let next = nextId
  return entries.map((entry) => {
    if (entry.firstId !== undefined) return entry
    const firstId = next
    next += entry.rows
    return { ...entry, firstId }
  })
}

/** The body of a manifest with the ids of its rows: those of an older one follow each other. */
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
const formatVersion = 3

/**
 * The bytes of a JSON object of a table, with its checksum. One without `columns` is of format 1, and one without files
 * of other tables is of format 2 at most: earlier releases read these, too.
 */
export function seal(kind: Kind, text: string, has: { columns: boolean; bases: boolean }): Uint8Array {
  return sealed.seal(kind, has.bases ? 3 : has.columns ? 2 : 1, text)
}

const texts = new WeakMap<FragmentEntry, string>()

/** An entry as JSON, made once, since most entries of a manifest come again in the next one. */
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

/** The body of an object that `seal` made. Throws `InvalidTableState` for any other bytes. */
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

/** The layouts of files, in order. */
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
