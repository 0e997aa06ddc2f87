import type { AnyBatch } from '../../arrow/batch.ts'
import type { Piece } from '../../arrow/take/take.ts'
import type { RowSelection } from '../read/row-selection.ts'

/** Rows of a fragment's column as pieces. A few rows are copied, as a view of them would keep all in memory. */
export function piecesOf(batch: AnyBatch, { runs, rows }: RowSelection): Piece[] {
  // A single run would become a view. Two pieces are copied.
  return rows * 2 > batch.length
    ? [{ batch, runs }]
    : [
        { batch, runs },
        { batch, runs: [] },
      ]
}
