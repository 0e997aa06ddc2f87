import type { DataType } from '@uwdata/flechette'
import type { AnyBatch } from '../../arrow/batch.ts'
import { type Bitmap, hasRow } from '../../arrow/bitmap.ts'
import { nullBatch } from '../../arrow/null-batch.ts'
import { assemble } from '../../arrow/take/take.ts'
import type { FragmentRows } from '../read/fragment-read.ts'
import { selectRows } from '../read/row-selection.ts'

/** The live rows of a fragment, without gaps. Deleted rows must not make a change of columns fail. */
export function compactRows(rows: FragmentRows, live: Bitmap | undefined): FragmentRows {
  if (live === undefined) return rows
  const { runs, rows: length } = selectRows(live, rows.length, 0, rows.length)
  return {
    length,
    columns: rows.columns.map((batch) => batch && assemble(batch.type, [{ batch, runs }])),
  }
}

/** Moves values of live rows to the positions of these rows. Deleted rows get any existing value. */
export function expandRows(
  batch: AnyBatch,
  type: DataType,
  live: Bitmap | undefined,
  rows: number,
): AnyBatch {
  if (live === undefined) return batch
  if (batch.length === 0) return nullBatch(type, rows, Number.POSITIVE_INFINITY)
  const runs: number[] = []
  let next = 0
  for (let row = 0; row < rows; row++) {
    const isLive = hasRow(live, row)
    const from = isLive ? next++ : 0
    if (isLive && row > 0 && runs.at(-1) === from) runs[runs.length - 1] = from + 1
    else runs.push(from, from + 1)
  }
  return assemble(type, [{ batch, runs }])
}

/** The row in a fragment of the live row at this index. */
export function rowOfLive(live: Bitmap | undefined, index: number, rows: number): number {
  if (live === undefined) return index
  const { runs } = selectRows(live, rows, index, 1)
  return runs[0]!
}
