import { assemble } from '../../arrow/take/take.ts'
import type { FragmentLayout } from '../format/manifest.ts'
import type { TableFiles } from '../format/table-schema.ts'
import type { FragmentPosition } from '../scan/row-columns.ts'
import type { ReadStorage } from '../storage/objects.ts'
import { planFewRows } from './few-rows.ts'
import { type FragmentRows, readColumns } from './fragment-read.ts'
import type { RowSelection } from './row-selection.ts'

/** The share of a fragment's rows below which copying them takes less time than work on all rows. */
const fewShare = 1 / 8

/** Columns of a fragment for some of its rows. */
export interface SelectedColumns {
  readonly rows: FragmentRows
  /** Where the rows are among those of `rows`: all of them if they were few. */
  readonly selection: RowSelection
  /** Whether `rows` has no others. */
  readonly isAlone: boolean
}

/** Reads columns for some rows of a fragment: copies of these if they are few, and the whole columns otherwise. */
export async function readSelected(
  storage: ReadStorage,
  table: TableFiles,
  entry: FragmentLayout & FragmentPosition,
  indices: Iterable<number>,
  selection: RowSelection,
): Promise<SelectedColumns> {
  const wanted = new Set(indices)
  const { runs, rows: length } = selection
  if (length >= entry.rows * fewShare) {
    return { rows: await readColumns(storage, table, entry, wanted), selection, isAlone: false }
  }
  const few = planFewRows(storage, table, entry, wanted, { runs, rows: length })
  const all = { runs: [0, length], rows: length, skipped: 0 }
  const { columns } = await readColumns(
    storage,
    table,
    entry,
    wanted,
    few ?? { runs, rows: length, bytes: 0, alone: new Set() },
  )
  // A column of one run is a view of all rows, which it would keep in memory. Two pieces are copied.
  const copies = columns.map(
    (batch) =>
      batch &&
      assemble(batch.type, [
        { batch, runs: all.runs },
        { batch, runs: [] },
      ]),
  )
  return { rows: { length, columns: copies }, selection: all, isAlone: true }
}
