import { type ColumnFile, type FragmentEntry, filesOf } from '../format/manifest.ts'
import type { Fragments } from '../format/snapshot.ts'
import type { TableSchema } from '../format/table-schema.ts'
import type { OptimizeOptions } from '../table-engine.ts'
import { fragmentBytes } from '../write/write-rows.ts'

/** Neighbouring fragments, and whether to merge them. */
export interface MergeGroup {
  readonly entries: readonly FragmentEntry[]
  readonly merge: boolean
}

/** Share of deleted rows from which on a fragment is rewritten without them. */
const deletedShare = 0.1

/** Files of a fragment from which on they are merged. */
const manyFiles = 8

/** Most fragments in a merge: their entries must fit into memory. */
const maxFragments = 65_536

/** With `gentle`, the first fragment of a group is excluded if it is this many times larger than the rest. */
const gentleFactor = 2

/**
 * Divides a table's fragments, in order, into groups to merge into one fragment each, and fragments to leave. A
 * fragment is merged if it has many deleted rows, or at most half the size that a fragment may have. No group exceeds
 * that size. So a full group becomes a fragment that is no longer small, and a second plan finds nothing to merge.
 */
export async function* planMerges(
  schema: TableSchema,
  entries: Fragments,
  maxRows: number,
  options: OptimizeOptions,
): AsyncGenerator<MergeGroup> {
  const most = { rows: options.targetRows ?? maxRows, bytes: options.targetBytes ?? fragmentBytes }
  const share = options.minDeletedShare ?? deletedShare
  let open: FragmentEntry[] = []
  let rows = 0
  let bytes = 0
  for await (const entry of entries) {
    const size = sizeOf(schema, entry)
    const isSmall = size.rows * 2 <= most.rows && size.bytes * 2 <= most.bytes
    const isWanted = isSmall || needsRewrite(schema, entry, share)
    const isFull =
      rows + size.rows > most.rows || bytes + size.bytes > most.bytes || open.length >= maxFragments
    if (open.length > 0 && (!isWanted || isFull)) {
      yield* close(schema, open, share, options.gentle)
      open = []
      rows = 0
      bytes = 0
    }
    if (!isWanted) {
      yield { entries: [entry], merge: false }
      continue
    }
    open.push(entry)
    rows += size.rows
    bytes += size.bytes
  }
  if (open.length > 0) yield* close(schema, open, share, options.gentle)
}

/** Whether replacing `before` by `after` is worthwhile. `saves`: dropped columns were left out. */
export function isWorthwhile(
  before: readonly FragmentEntry[],
  after: readonly FragmentEntry[],
  saves: boolean,
): boolean {
  return saves || filesIn(after) < filesIn(before) || deletedIn(after) < deletedIn(before)
}

function* close(
  schema: TableSchema,
  entries: readonly FragmentEntry[],
  share: number,
  gentle = false,
): Generator<MergeGroup> {
  let first = 0
  if (gentle) {
    let rest = 0
    for (const entry of entries) rest += sizeOf(schema, entry).bytes
    for (; first < entries.length - 1; first++) {
      const { bytes } = sizeOf(schema, entries[first]!)
      rest -= bytes
      if (bytes <= gentleFactor * rest || needsRewrite(schema, entries[first]!, share)) break
    }
  }
  if (first > 0) yield { entries: entries.slice(0, first), merge: false }
  const left = entries.slice(first)
  yield { entries: left, merge: left.length > 1 || needsRewrite(schema, left[0]!, share) }
}

function hasManyDeletedRows({ rows, deletions }: FragmentEntry, share: number): boolean {
  return deletions !== undefined && deletions.count > 0 && deletions.count >= share * rows
}

/** Whether a fragment has many deleted rows, many files, or many bytes of dropped columns. */
function needsRewrite(schema: TableSchema, entry: FragmentEntry, share: number): boolean {
  if (hasManyDeletedRows(entry, share)) return true
  const files = filesOf(entry)
  if (files.length >= manyFiles) return true
  const unneeded = unneededBytes(schema, entry)
  return unneeded > 0 && unneeded >= share * bytesIn(files)
}

/** Bytes of dropped columns. */
export function unneededBytes(schema: TableSchema, entry: FragmentEntry): number {
  const bytes = bytesIn(filesOf(entry))
  return bytes - neededBytes(schema, entry, bytes)
}

/** The live rows, and about the bytes of their columns, without the metadata of the file. */
function sizeOf(schema: TableSchema, entry: FragmentEntry) {
  const { rows, deletions } = entry
  const left = rows - (deletions?.count ?? 0)
  const bytes = neededBytes(schema, entry, bytesIn(filesOf(entry)))
  return { rows: left, bytes: rows === 0 ? 0 : (bytes * left) / rows }
}

function bytesIn(files: readonly ColumnFile[]): number {
  let bytes = 0
  for (const { columns, dictionaries = [] } of files) {
    for (const [, length] of columns) bytes += length
    for (const [, [, length]] of dictionaries) bytes += length
  }
  return bytes
}

/** The part of the bytes that belongs to columns of the table. */
function neededBytes({ columns }: TableSchema, entry: FragmentEntry, bytes: number): number {
  if (columns === undefined || columns.fits(entry)) return bytesIn([entry])
  const files = filesOf(entry)
  const needed = new Set(
    columns
      .locationsIn(entry)
      .flatMap((location) => (location ? `${location.file} ${location.source.index}` : [])),
  )
  for (const [number, file] of files.entries()) {
    for (const [index, [, length]] of file.columns.entries()) {
      if (!needed.has(`${number} ${index}`)) bytes -= length
    }
  }
  return bytes
}

function filesIn(entries: readonly FragmentEntry[]): number {
  return entries.reduce((sum, entry) => sum + filesOf(entry).length, 0)
}

function deletedIn(entries: readonly FragmentEntry[]): number {
  return entries.reduce((sum, { deletions }) => sum + (deletions?.count ?? 0), 0)
}
