import { addRow, allRows, type Bitmap, forEachRow, hasRow, isEmpty, noRows } from '../../arrow/bitmap.ts'
import { RunBuilder } from '../../arrow/take/runs.ts'
import type { Predicate, WorkBudget } from '../../predicate/index.ts'
import { readLive } from '../format/deletions.ts'
import type { FragmentEntry } from '../format/manifest.ts'
import type { LoadedSnapshot } from '../format/snapshot.ts'
import type { Job } from '../job.ts'
import type { RowSelection } from '../read/row-selection.ts'
import { readSelected, type SelectedColumns } from '../read/selected-columns.ts'
import { sliceRows, walk } from '../scan/evaluate.ts'
import type { FragmentPosition } from '../scan/row-columns.ts'
import type { IndexLookup } from './index-lookup.ts'

/** How many fragments are looked up at once: an index and a few rows of each are read. */
export const lookupDepth = 8

/** Live rows of a fragment that may match, and the columns that the predicate reads of them. */
export interface Candidates {
  readonly rows: readonly number[]
  readonly read: SelectedColumns['rows']
}

/** Evaluates a predicate on those rows of fragments that an index finds. */
export class IndexedRows {
  readonly #job: Job
  readonly #snapshot: LoadedSnapshot
  readonly #predicate: Predicate
  readonly #budget: WorkBudget
  readonly #lookup: IndexLookup

  /** Scans of other fragments may share the budget. */
  constructor(
    job: Job,
    snapshot: LoadedSnapshot,
    predicate: Predicate,
    lookup: IndexLookup,
    budget: WorkBudget,
  ) {
    this.#job = job
    this.#snapshot = snapshot
    this.#predicate = predicate
    this.#budget = budget
    this.#lookup = lookup
  }

  /** Finds and reads the rows of a fragment that may match. Undefined if the fragment must be scanned. */
  async candidates(entry: FragmentEntry & FragmentPosition): Promise<Candidates | undefined> {
    const found = await this.#lookup.rowsIn(entry)
    if (found === undefined) return undefined
    const none = { rows: [], read: { length: 0, columns: [] } }
    if (found.length === 0) return none
    const { storage } = this.#job
    const live = await readLive(storage, this.#snapshot.prefix, entry)
    const rows = live ? found.filter((row) => hasRow(live, row)) : found
    if (rows.length === 0) return none
    const selection = selectionOf(rows)
    const read = await readSelected(storage, this.#snapshot, entry, this.#predicate.columns, selection)
    return { rows, read: read.rows }
  }

  /** How many of them match. */
  async count({ read }: Candidates): Promise<number> {
    if (read.length === 0) return 0
    return walk(this.#predicate.countSteps(read, 0, read.length, undefined, this.#budget), this.#job)
  }

  /**
   * Those of the fragment's rows that match, until `enough` returns true. It is asked after the slices after which a scan
   * asks, so the same rows may fail.
   */
  async select(
    entry: FragmentEntry,
    { rows, read }: Candidates,
    enough?: (found: Bitmap) => boolean,
  ): Promise<Bitmap> {
    let selected = noRows(0)
    for (let at = 0; at < rows.length; ) {
      const end = enough ? endOfSlice(rows, at) : Math.min(rows.length, at + sliceRows)
      // Evaluation begins at a multiple of 32.
      const first = at & ~31
      const live = allRows(end - first)
      live[0]! &= -1 << (at & 31)
      const found = await walk(this.#predicate.steps(read, first, end, live, this.#budget), this.#job)
      if (!isEmpty(found)) {
        if (selected.length === 0) selected = noRows(entry.rows)
        forEachRow(found, (position) => addRow(selected, rows[first + position]!))
      }
      if (enough?.(found)) break
      at = end
    }
    return selected
  }
}

/** The end of the rows in the slice of the row at `at`. */
function endOfSlice(rows: readonly number[], at: number): number {
  const last = (Math.floor(rows[at]! / sliceRows) + 1) * sliceRows
  let end = at
  while (end < rows.length && rows[end]! < last) end++
  return end
}

function selectionOf(rows: readonly number[]): RowSelection {
  const runs = new RunBuilder()
  for (const row of rows) runs.add(row, row + 1)
  return { runs: runs.done(), rows: runs.rows, skipped: 0 }
}
