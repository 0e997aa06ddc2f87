import { type Bitmap, countRows, noRows } from '../../arrow/bitmap.ts'
import type { Plan } from '../plan/plan.ts'
import { afterPart, kept, WorkBudget } from '../work.ts'
import { builder, type Kernel } from './build.ts'
import { operandsOf } from './fold.ts'
import type { Frame, Rows } from './frame.ts'
import { wantTrue } from './node.ts'
import { last, walker } from './walk.ts'

export type { Rows } from './frame.ts'
export { sliceRows } from './frame.ts'

/** A predicate, ready for evaluation. It may be used any number of times, also for other tables of its schema. */
interface Evaluator {
  /**
   * The rows from `start` to `end` for which the predicate is true (not false, not null); bit 0 of the result is row
   * `start`, a multiple of 32.
   *
   * `live` holds the rows that count, with bit 0 for row `start`. Other rows are never selected, and cannot cause an
   * error. Throws `InvalidInput` if a row makes the predicate fail, for example by a division by zero.
   */
  select(rows: Rows, start: number, end: number, live?: Bitmap): Bitmap
  /** As `select`, in steps of a few milliseconds. Refuses functions that take more work than `budget` has left. */
  steps(rows: Rows, start: number, end: number, live?: Bitmap, budget?: WorkBudget): Generator<void, Bitmap>
  /** As `steps`, for the number of rows. */
  countSteps(
    rows: Rows,
    start: number,
    end: number,
    live?: Bitmap,
    budget?: WorkBudget,
  ): Generator<void, number>
  /** How many rows `select` would return. */
  count(rows: Rows, start: number, end: number, live?: Bitmap): number
  /** Indices of the top-level columns that it reads, in order. */
  readonly columns: readonly number[]
}

/**
 * Prepares a folded plan of type boolean for evaluation. Kernels change the time that it takes and nothing else. Without
 * them every row is evaluated by itself.
 *
 * Operands of `AND` and `OR` are evaluated from left to right, and only for rows that are still undecided: in `b <> 0
 * AND a / b > 1` no row divides by zero.
 */
export function evaluator(plan: Plan, kernels: readonly Kernel[]): Evaluator {
  const test = kept(builder, () => builder(kernels, afterPart)).test(plan)
  const walk = walker(test.cost)
  const evaluate = (frame: Frame, need: Bitmap) => {
    const yes = frame.bitmap()
    test.test(frame, need, wantTrue, yes, frame.bitmap())
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
    // Rows of one word may be added in several calls.
    const add = (selected: Bitmap, { words }: Frame, firstWord: number) => {
      for (let q = 0; q < words; q++) all[firstWord + q]! |= selected[q]!
    }
    yield* walk(rows, start, end, live, budget, evaluate, add)
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
    yield* walk(rows, start, end, live, budget, evaluate, (selected, { words }) => {
      count += countRows(selected, words)
    })
    return count
  }

  return {
    columns: columnsOf(plan),
    steps,
    countSteps,
    select: (rows, start, end, live) => last(steps(rows, start, end, live)),
    // Counting the bits of a mask costs 0.05 ns a row. A loop that counts rows directly is no faster than one that
    // writes a mask (1.0 and 0.9 ns), so there is none.
    count: (rows, start, end, live) => last(countSteps(rows, start, end, live)),
  }
}

/** Indices of the top-level columns that a plan reads, in order. */
export function columnsOf(plan: Plan): number[] {
  const found = new Set<number>()
  const visit = (part: Plan): void => {
    if (part.kind === 'column') found.add(part.path[0]!)
    else for (const operand of operandsOf(part)) visit(operand)
  }
  visit(plan)
  return [...found].sort((a, b) => a - b)
}
