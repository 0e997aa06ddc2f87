import type { AnyBatch } from '../../arrow/batch.ts'
import type { Bitmap } from '../../arrow/bitmap.ts'
import { RunBuilder } from '../../arrow/take/runs.ts'
import type { Piece } from '../../arrow/take/take.ts'

export interface RowSelection {
  readonly runs: ArrayLike<number>
  readonly rows: number
  /** Rows skipped before the first run. */
  readonly skipped: number
}

/** Selects rows whose bit is set: at most `limit` of them, after skipping `skip`. */
export function selectRows(bitmap: Bitmap, rows: number, skip: number, limit: number): RowSelection {
  const runs = new RunBuilder()
  let skipped = 0
  for (let w = nextWord(bitmap, 0); w < bitmap.length && runs.rows < limit; w = nextWord(bitmap, w + 1)) {
    let word = bitmap[w]!
    const start = w * 32
    if (word === 0xffffffff && skipped === skip && runs.rows + 32 <= limit && start + 32 <= rows) {
      runs.add(start, start + 32)
      continue
    }
    while (word !== 0 && runs.rows < limit) {
      const row = start + 31 - Math.clz32(word & -word)
      word &= word - 1
      if (row >= rows) break
      if (skipped < skip) skipped++
      else runs.add(row, row + 1)
    }
  }
  return { runs: runs.done(), rows: runs.rows, skipped }
}

/** The first word with a row, from `from` on. */
function nextWord(bitmap: Bitmap, from: number): number {
  let w = from
  while (w < bitmap.length && bitmap[w] === 0) w++
  return w
}

/** Selects from all rows of a fragment. */
export function selectAllRows(rows: number, skip: number, limit: number): RowSelection {
  const start = Math.min(skip, rows)
  const end = Math.min(rows, start + limit)
  return { runs: end > start ? [start, end] : [], rows: end - start, skipped: start }
}

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
