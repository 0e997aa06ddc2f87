import { CatalogError } from '../../../base/errors.ts'
import { addRow, hasRow, noRows } from '../../arrow/bitmap.ts'
import { readLive, withoutRows } from '../format/deletions.ts'
import { type FragmentEntry, filesOf, type StoredColumns } from '../format/manifest.ts'
import { storedColumnsOf, type TableFiles, withLayout, withLayoutKey } from '../format/table-schema.ts'
import type { Job } from '../job.ts'
import type { Storage } from '../storage/storage.ts'
import { merge } from './merge.ts'

/*
 * Small inserts leave small fragments, and each costs a scan some time, and a manifest some bytes. So an insert that
 * leaves several fragments of one level at the end merges them, as log-structured merge trees do. A row is then written
 * about as often as there are levels. Larger fragments than those of the last level are left to an optimization, which
 * bounds the work of one insert.
 */

/** Fragments of a level that are merged. */
const fan = 8

/** The end of a table, after an insert. */
interface Tail {
  readonly entries: readonly FragmentEntry[]
  /** Absent if all files have the columns of the schema. */
  readonly columns: StoredColumns | undefined
}

/** Merges the last fragments of an insert's version where a level is full. All entries need ids of rows. */
export async function mergeLevels(job: Job, table: TableFiles, tail: Tail): Promise<Tail> {
  const start = startOfMerge(tail.entries, job.storage)
  if (start === undefined) return tail
  try {
    return await mergeFrom(job, table, tail, start)
  } catch (error) {
    // Rows that are damaged or missing do not keep others from being added.
    if (error instanceof CatalogError && error.code === 'InvalidTableState') return tail
    throw error
  }
}

async function mergeFrom(
  job: Job,
  table: TableFiles,
  { entries, columns }: Tail,
  start: number,
): Promise<Tail> {
  const sources = entries.slice(start)
  const { written, layout } = await merge(job, table, sources, 'all', () => {})
  const { key, stored } = withLayout(columns ?? storedColumnsOf(table.schema), layout)
  let { firstId } = sources[0]!
  const merged = written.map((file) => {
    const entry = { ...withLayoutKey(file, key), firstId: firstId! }
    firstId! += file.rows
    return entry
  })
  return {
    entries: [...entries.slice(0, start), ...(await withDeletions(job, table, sources, merged))],
    columns: key === '' ? columns : stored,
  }
}

/** The first fragment to merge with all that follow. Undefined if no level is full. */
function startOfMerge(
  entries: readonly FragmentEntry[],
  { levels, fragmentRows }: Storage,
): number | undefined {
  let start: number | undefined
  let at = entries.length
  let rows = 0
  for (const most of levels) {
    const end = at
    while (at > 0 && sizeOf(entries[at - 1]!) <= most && (at === entries.length || isNext(entries, at))) {
      rows += entries[at - 1]!.rows
      if (rows > fragmentRows) return start
      at--
    }
    // A full level becomes one more fragment of the next.
    const count = end - at + (start === undefined ? 0 : 1)
    if (count === 0) continue
    if (count < fan) return start
    start = at
  }
  return start
}

function sizeOf(entry: FragmentEntry): number {
  return filesOf(entry).reduce((sum, { size }) => sum + size, 0)
}

/** Whether the ids of a fragment's rows follow those of the fragment before. Then they stay what they are. */
function isNext(entries: readonly FragmentEntry[], at: number): boolean {
  const { firstId, rows } = entries[at - 1]!
  return firstId! + rows === entries[at]!.firstId
}

/** Merged fragments without the rows that were deleted in their sources. */
async function withDeletions(
  job: Job,
  { prefix }: TableFiles,
  sources: readonly FragmentEntry[],
  merged: readonly FragmentEntry[],
): Promise<readonly FragmentEntry[]> {
  if (sources.every(({ deletions }) => deletions === undefined)) return merged
  const deleted = noRows(sources.reduce((sum, { rows }) => sum + rows, 0))
  let start = 0
  for (const entry of sources) {
    const live = await readLive(job.storage, prefix, entry)
    if (live) for (let row = 0; row < entry.rows; row++) if (!hasRow(live, row)) addRow(deleted, start + row)
    start += entry.rows
  }
  return withoutRows(job.storage, prefix, merged, deleted)
}
