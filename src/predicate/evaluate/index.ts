import { type Bitmap, countRows, noRows, wordsFor } from '../../arrow/bitmap.ts'
import type { Plan } from '../plan/plan.ts'
import { pause, stretch, WorkBudget } from '../work.ts'
import { builder, type FastPath } from './build.ts'
import { operandsOf } from './fold.ts'
import { Frame, type Rows, sliceRows } from './frame.ts'
import { wantTrue } from './node.ts'

/** What the rows of a slice may cost, in units of a comparison of numbers: some 5 ms. */
const sliceCost = 2_500_000
/** Milliseconds below which twice as many rows are tried next. */
const quickMillis = 2

export type { Rows } from './frame.ts'
export { sliceRows } from './frame.ts'

/** A predicate, ready to be asked about rows. It may be used any number of times, also for other tables of its schema. */
export interface Evaluator {
  /**
   * The rows from `start` to `end` for which the predicate is true (not false, not null); bit 0 of the result
   * is row `start`, a multiple of 32.
   *
   * `live` holds the rows that count, with bit 0 for row `start`; the others are never selected, and cannot
   * cause an error. Throws `InvalidInput` when a row makes the predicate fail, as a division by zero does.
   */
  select(rows: Rows, start: number, end: number, live?: Bitmap): Bitmap
  /**
   * The same in steps of a few milliseconds, so that the caller can rest between them. What it returns at last is what
   * `select` gives. Functions that take more work than `budget` has left are refused.
   */
  steps(rows: Rows, start: number, end: number, live?: Bitmap, budget?: WorkBudget): Generator<void, Bitmap>
  /** How many rows `select` would give. */
  count(rows: Rows, start: number, end: number, live?: Bitmap): number
  /** Indices of the top-level columns that it reads, in order. */
  readonly columns: readonly number[]
}

/**
 * Prepares a plan, whose type is boolean and which was folded, for evaluation. Fast paths change how long it takes
 * and nothing else; without them every row is asked by itself.
 *
 * Operands of `AND` and `OR` are asked from left to right, and only of rows that are still open: in
 * `b <> 0 AND a / b > 1` no row divides by zero.
 */
export function evaluator(plan: Plan, fastPaths: readonly FastPath[]): Evaluator {
  const test = builder(fastPaths).test(plan)
  // What a plan takes is estimated by its parts. Where functions take longer, fewer rows are tried by and by.
  const mostRows = Math.max(1, Math.min(sliceRows, Math.floor(sliceCost / test.cost)))
  // A slice begins at a word.
  const frame = new Frame(mostRows + 31)
  let pace = mostRows

  function* steps(
    rows: Rows,
    start: number,
    end: number,
    live?: Bitmap,
    budget: WorkBudget = new WorkBudget(),
  ): Generator<void, Bitmap> {
    if (start % 32 !== 0) throw new RangeError(`start must be a multiple of 32, not ${start}`)
    const selected = noRows(Math.max(0, end - start))
    for (let from = start; from < end; ) {
      const to = endOf(from, pace, end)
      const began = performance.now()
      if (evaluate(rows, start, from, to, live, selected, budget)) {
        from = to
        if (performance.now() - began < quickMillis) pace = Math.min(mostRows, pace * 2)
      } else pace = Math.max(1, (to - from) >>> 1)
      yield
    }
    return selected
  }

  /** Adds the selected ones of some rows; false when they take too long to be evaluated at once. */
  function evaluate(
    rows: Rows,
    start: number,
    from: number,
    to: number,
    live: Bitmap | undefined,
    selected: Bitmap,
    budget: WorkBudget,
  ): boolean {
    const firstRow = from & ~31
    const firstWord = (firstRow - start) >>> 5
    frame.moveTo(rows, firstRow, to)
    const need = frame.allRows()
    need[0]! &= -1 << (from & 31)
    if (live !== undefined) for (let q = 0; q < frame.words; q++) need[q]! &= live[firstWord + q]!
    const yes = frame.bitmap()
    let spent = 0
    try {
      stretch(
        to - from > 1,
        () => test.test(frame, need, wantTrue, yes, frame.bitmap()),
        (steps) => {
          spent = steps
        },
      )
    } catch (error) {
      if (error !== pause) throw error
      return false
    } finally {
      budget.take(spent)
    }
    for (let q = 0; q < frame.words; q++) selected[firstWord + q]! |= yes[q]!
    return true
  }

  const select: Evaluator['select'] = (rows, start, end, live) => {
    const walk = steps(rows, start, end, live)
    for (;;) {
      const { done, value } = walk.next()
      if (done) return value
    }
  }
  return {
    columns: columnsOf(plan),
    steps,
    select,
    // Counting bits of a mask costs 0.05 ns a row; a loop that counts rows itself is no faster than one that
    // writes a mask (1.0 and 0.9 ns), so there is none.
    count: (rows, start, end, live) => countRows(select(rows, start, end, live), wordsFor(end - start)),
  }
}

/** The row after so many rows: at a word's end, unless that leaves none. */
function endOf(from: number, pace: number, end: number): number {
  const to = Math.min(from + pace, end)
  const even = to & ~31
  return to < end && even > from ? even : to
}

function columnsOf(plan: Plan): number[] {
  const found = new Set<number>()
  const visit = (part: Plan): void => {
    if (part.kind === 'column') found.add(part.path[0]!)
    else for (const operand of operandsOf(part)) visit(operand)
  }
  visit(plan)
  return [...found].sort((a, b) => a - b)
}
