import { createHash } from 'node:crypto'
import * as sealed from '../../model/sealed-json.ts'
import type { StoredStatistics } from '../statistics/stored-statistics.ts'
import { brokenObject, type Range } from '../storage/objects.ts'
import type { ManifestRef } from '../table-engine.ts'

/** A fragment: an immutable Arrow file of one record batch, and the byte ranges of its parts. */
export interface FragmentEntry {
  /** Relative to the table's location, like every path in a manifest. */
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
  readonly statistics: StoredStatistics
  readonly deletions?: DeletionEntry
}

/** All ranges of a fragment that have a checksum of their own, in the order of the file. */
export function rangesOf({
  batch,
  columns,
  dictionaries = [],
}: Pick<FragmentEntry, 'batch' | 'columns' | 'dictionaries'>): Range[] {
  return [batch, ...columns, ...dictionaries.flat()]
    .filter(([, length]) => length > 0)
    .sort(([a], [b]) => a - b)
}

/** The part of an entry that reading the fragment needs. */
export type FragmentLayout = Omit<FragmentEntry, 'statistics'>

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
  readonly path: string
  readonly size: number
  readonly etag: string
}

export interface ManifestBody extends Totals {
  /** An Arrow IPC stream without rows, in base64. */
  readonly schema: string
  /** The schema metadata, which is replaced without touching the schema. */
  readonly metadata: readonly (readonly [string, string])[]
  /** Fragments in the order of their rows: those of the segments first, then the tail. */
  readonly segments: readonly SegmentEntry[]
  readonly tail: readonly FragmentEntry[]
}

/** The kinds of JSON objects that a table has. */
export type Kind = 'manifest' | 'segment'
const formatVersion = 1

/** The bytes of a JSON object of a table, with its checksum. */
export function seal(kind: Kind, text: string): Uint8Array {
  return sealed.seal(kind, formatVersion, text)
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

export function refOf(path: string, bytes: Uint8Array): ManifestRef {
  return { path, size: bytes.length, etag: etagOf(bytes) }
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
  }
  for (const segment of segments) {
    rows += segment.rows
    deletedRows += segment.deletedRows
    fragments += segment.fragments
    bytes += segment.bytes
  }
  return { rows, deletedRows, fragments, bytes }
}
