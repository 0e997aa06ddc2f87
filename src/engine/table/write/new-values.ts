import { type CatalogError, invalid } from '../../../base/errors.ts'
import type { TimeSlice } from '../../../base/scheduling/time-slice.ts'
import type { AnyBatch } from '../../arrow/batch.ts'
import type { Bitmap } from '../../arrow/bitmap.ts'
import { bytesInUse } from '../../arrow/cast/cast-size.ts'
import { compactDictionary } from '../../arrow/take/assemble-columns.ts'
import { assemble } from '../../arrow/take/take.ts'
import type { ValueExpression, WorkBudget } from '../../predicate/index.ts'
import { rowsThatFit } from '../read/answer-reader.ts'
import type { FragmentRows } from '../read/fragment-read.ts'
import { piecesOf, selectRows } from '../read/row-selection.ts'
import { walk } from '../scan/evaluate.ts'
import { uncountedBytes, updatedBytes, type ValueHold } from './value-memory.ts'

/** Bytes of new texts and lists that are computed at once. */
const maxBytes = 16 << 20

/** Most bytes of the new values of one row. All of them are in memory before any of them is written. */
const maxBytesOfRow = 64 << 20

/** The new values of a column. */
export interface Assignment {
  readonly expression: ValueExpression
  readonly budget: WorkBudget
}

/** Rows of a fragment, and which of them match. */
export interface MatchingRows {
  readonly rows: FragmentRows
  readonly matches: Bitmap
  /** How many rows match. */
  readonly count: number
  /** The number of a row for errors. */
  readonly numberOf: (row: number) => number
}

/** New values of `count` rows after the first `done`, by the index of the column. */
interface Part {
  readonly made: ReadonlyMap<number, AnyBatch>
  readonly done: number
  readonly count: number
}

/** Computes the new values of an update. The first long values reserve memory. */
export class NewValues {
  readonly #assignments: ReadonlyMap<number, Assignment>
  readonly #memory: ValueHold
  readonly #timeSlice: TimeSlice

  constructor(assignments: ReadonlyMap<number, Assignment>, memory: ValueHold, timeSlice: TimeSlice) {
    this.#assignments = assignments
    this.#memory = memory
    this.#timeSlice = timeSlice
  }

  /** The new values of the matching rows of a fragment, in parts of limited size. */
  async *parts(of: MatchingRows, budgetOf: (assignment: Assignment) => WorkBudget): AsyncGenerator<Part> {
    const { rows, matches, count: total } = of
    let start = 0
    let end = rows.length
    for (let done = 0; done < total; ) {
      const made = await this.#evaluate(of, start, end, budgetOf)
      const count = Math.min(...Array.from(made.values(), ({ length }) => length))
      const waits = this.#memory.take(bytesOf(made), updatedBytes, this.#timeSlice.signal)
      if (waits) await waits
      yield { made, done, count }
      done += count
      if (done < total) {
        // After long values, the next part computes other columns for few more rows.
        const next = selectRows(matches, rows.length, done, 1).runs[0]!
        end = Math.min(rows.length, next + 4 * (next - start))
        start = next
      }
    }
  }

  /** The new values of rows from `first` up to `end`; of fewer, if they take many bytes. */
  async #evaluate(
    { rows, matches, numberOf }: MatchingRows,
    first: number,
    end: number,
    budgetOf: (assignment: Assignment) => WorkBudget,
  ): Promise<ReadonlyMap<number, AnyBatch>> {
    // Evaluation begins at a multiple of 32.
    const start = first & ~31
    const live = matches.slice(start >>> 5)
    live[0]! &= -1 << (first & 31)
    const made = new Map<number, AnyBatch>()
    // Changes that wait for memory hold little meanwhile.
    const share = (this.#memory.isHeld ? maxBytes : uncountedBytes) / this.#assignments.size
    const most = Math.max(1, share)
    let count = Number.POSITIVE_INFINITY
    let bytes = 0
    for (const [index, assignment] of this.#assignments) {
      const options = { live, budget: budgetOf(assignment), numberOf, mostBytes: most }
      const batch = await walk(assignment.expression.steps(rows, start, end, options), this.#timeSlice)
      made.set(index, batch)
      count = Math.min(count, batch.length)
      bytes += bytesInUse(batch)
      const fit = rowsThatFit(count, bytes, made.size * most)
      if (fit === count && bytes <= maxBytes) continue
      count = fit
      for (const [index, batch] of made) if (batch.length > count) made.set(index, firstRows(batch, count))
      bytes = bytesOf(made)
      end = start + selectRows(live, end - start, count - 1, 1).runs[1]!
      if (count === 1 && bytes > maxBytesOfRow) throw rowTooLarge()
    }
    return made
  }
}

function bytesOf(made: ReadonlyMap<number, AnyBatch>): number {
  let sum = 0
  for (const batch of made.values()) sum += bytesInUse(batch)
  return sum
}

function firstRows(batch: AnyBatch, rows: number): AnyBatch {
  return compactDictionary(assemble(batch.type, piecesOf(batch, { runs: [0, rows], rows, skipped: 0 })))
}

function rowTooLarge(): CatalogError {
  return invalid(
    `The new values of one row take more than ${maxBytesOfRow.toLocaleString('en')} bytes, the most of one row. Update fewer columns at a time, or compute shorter values.`,
  )
}
