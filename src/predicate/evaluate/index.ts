import { type Bitmap, countRows, noRows } from '../../arrow/bitmap.ts'
import type { Plan } from '../plan/plan.ts'
import { afterPart, kept, Progress, pause, Stretch, WorkBudget } from '../work.ts'
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
  /** The same for counting. */
  countSteps(
    rows: Rows,
    start: number,
    end: number,
    live?: Bitmap,
    budget?: WorkBudget,
  ): Generator<void, number>
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
  const test = kept(builder, () => builder(fastPaths, afterPart)).test(plan)
  // What a plan takes is estimated by its parts. Where functions take longer, fewer rows are tried by and by.
  const mostRows = Math.max(1, Math.min(sliceRows, Math.floor(sliceCost / test.cost)))
  // A slice begins at a word.
  const frame = new Frame(mostRows + 31)
  let pace = mostRows

  /** Evaluates some rows after the other, and hands those that are selected to `take`, which must not keep them. */
  function* walk(
    rows: Rows,
    start: number,
    end: number,
    live: Bitmap | undefined,
    budget: WorkBudget,
    take: (selected: Bitmap, words: number, firstWord: number) => void,
  ): Generator<void, void> {
    if (start % 32 !== 0) throw new RangeError(`start must be a multiple of 32, not ${start}`)
    // What was done of a single row, which may pause and go on.
    let progress: Progress | undefined
    for (let from = start; from < end; ) {
      const to = endOf(from, pace, end)
      const began = performance.now()
      const firstWord = ((from & ~31) - start) >>> 5
      if (to - from === 1) progress ??= new Progress()
      const selected = evaluate(rows, from, to, live, firstWord, budget, progress)
      if (selected === undefined) pace = Math.max(1, (to - from) >>> 1)
      else {
        progress = undefined
        take(selected, frame.words, firstWord)
        from = to
        if (pace < mostRows && performance.now() - began < quickMillis) pace = Math.min(mostRows, pace * 2)
      }
      yield
    }
  }

  /** The selected ones of some rows; undefined when they take too long to be evaluated at once. */
  function evaluate(
    rows: Rows,
    from: number,
    to: number,
    live: Bitmap | undefined,
    firstWord: number,
    budget: WorkBudget,
    progress: Progress | undefined,
  ): Bitmap | undefined {
    frame.moveTo(rows, from & ~31, to)
    const need = frame.allRows()
    need[0]! &= -1 << (from & 31)
    if (live !== undefined) for (let q = 0; q < frame.words; q++) need[q]! &= live[firstWord + q]!
    const yes = frame.bitmap()
    const stretch = new Stretch(progress === undefined, undefined, progress)
    try {
      stretch.run(() => test.test(frame, need, wantTrue, yes, frame.bitmap()))
    } catch (error) {
      if (error !== pause) throw error
      budget.take(stretch.steps)
      return undefined
    }
    budget.take(stretch.steps)
    return yes
  }

  function* steps(
    rows: Rows,
    start: number,
    end: number,
    live?: Bitmap,
    budget: WorkBudget = new WorkBudget(),
  ): Generator<void, Bitmap> {
    const all = noRows(Math.max(0, end - start))
    // Rows of a word may come by and by.
    const add = (selected: Bitmap, words: number, firstWord: number) => {
      for (let q = 0; q < words; q++) all[firstWord + q]! |= selected[q]!
    }
    yield* walk(rows, start, end, live, budget, add)
    return all
  }

  function* countSteps(
    rows: Rows,
    start: number,
    end: number,
    live?: Bitmap,
    budget: WorkBudget = new WorkBudget(),
  ): Generator<void, number> {
    let count = 0
    yield* walk(rows, start, end, live, budget, (selected, words) => {
      count += countRows(selected, words)
    })
    return count
  }

  return {
    columns: columnsOf(plan),
    steps,
    countSteps,
    select: (rows, start, end, live) => last(steps(rows, start, end, live)),
    // Counting bits of a mask costs 0.05 ns a row; a loop that counts rows itself is no faster than one that
    // writes a mask (1.0 and 0.9 ns), so there is none.
    count: (rows, start, end, live) => last(countSteps(rows, start, end, live)),
  }
}

/** What steps return at last. */
function last<T>(steps: Generator<void, T>): T {
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
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
