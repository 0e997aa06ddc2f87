import { performance } from '../../../base/time.ts'
import type { Bitmap } from '../../arrow/bitmap.ts'
import { Attempt, fewBytes, Progress, pause, type WorkBudget } from '../work.ts'
import { Frame, type Rows, sliceRows } from './frame.ts'

/** Cost limit of a slice, in units of a comparison of numbers: some 5 ms. */
const sliceCost = 2_500_000
/** Below these milliseconds, the next slice may have twice as many rows. */
const quickMillis = 2

/** Evaluates the rows of `need`, in the frame's scratch memory. */
type Evaluate<T> = (frame: Frame, need: Bitmap) => T
/** Receives a result, but must not keep it. `firstWord` is the slice's index in the words of all rows. */
type Take<T> = (result: T, frame: Frame, firstWord: number, need: Bitmap) => void

/** Evaluates rows in slices, and yields between them. */
export type Walk = <T>(
  rows: Rows,
  start: number,
  end: number,
  live: Bitmap | undefined,
  budget: WorkBudget,
  evaluate: Evaluate<T>,
  take: Take<T>,
) => Generator<void, void>

/** A walk over rows for an expression of the given cost. It may be used any number of times. */
export function walker(cost: number): Walk {
  // The cost is estimated from the plan's parts. If functions take longer, slices get smaller.
  const maxRows = Math.max(1, Math.min(sliceRows, Math.floor(sliceCost / cost)))
  let rowsAtOnce = maxRows

  return function* walk(rows, start, end, live, budget, evaluate, take) {
    if (start % 32 !== 0) throw new RangeError(`start must be a multiple of 32, not ${start}`)
    const frame = new Frame()
    // The state of a single row, which may pause and continue.
    let progress: Progress | undefined
    for (let from = start; from < end; ) {
      const to = endOf(from, rowsAtOnce, end)
      const began = performance.now()
      const firstWord = ((from & ~31) - start) >>> 5
      if (to - from === 1) progress ??= new Progress()
      frame.moveTo(rows, from & ~31, to)
      try {
        const need = frame.allRows()
        need[0]! &= -1 << (from & 31)
        if (live !== undefined) for (let q = 0; q < frame.words; q++) need[q]! &= live[firstWord + q]!
        const done = tryWork(() => evaluate(frame, need), budget, progress)
        if (done === undefined) rowsAtOnce = Math.max(1, (to - from) >>> 1)
        else {
          progress = undefined
          take(done.made, frame, firstWord, need)
          from = to
          const isQuick = performance.now() - began < quickMillis && done.bytes < fewBytes
          if (rowsAtOnce < maxRows && isQuick) rowsAtOnce = Math.min(maxRows, rowsAtOnce * 2)
        }
      } finally {
        // Others use the same memory before the next slice.
        frame.done()
      }
      yield
    }
  }
}

/** The result; undefined if the work paused because it takes too long. */
function tryWork<T>(
  work: () => T,
  budget: WorkBudget,
  progress: Progress | undefined,
): { readonly made: T; readonly bytes: number } | undefined {
  const attempt = new Attempt(progress === undefined, undefined, progress)
  let done: { readonly made: T; readonly bytes: number } | undefined
  try {
    const made = attempt.run(work)
    done = { made, bytes: attempt.bytes }
  } catch (error) {
    if (error !== pause) throw error
  }
  // Several rows that paused are evaluated again. If they counted, a busy machine would refuse what an idle one
  // accepts.
  if (done !== undefined || progress !== undefined) budget.take(attempt.steps)
  return done
}

/** The return value of a generator that runs to its end. */
export function last<T>(steps: Generator<void, T>): T {
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
  }
}

/** The end of the next slice: at the end of a word, unless that leaves no row. */
function endOf(from: number, rowsAtOnce: number, end: number): number {
  const to = Math.min(from + rowsAtOnce, end)
  const even = to & ~31
  return to < end && even > from ? even : to
}
