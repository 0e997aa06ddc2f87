import { type CatalogError, invalid } from '../errors.ts'

/*
 * What evaluation costs, so that no predicate holds up others. Evaluation is synchronous, and one thread evaluates one
 * thing at a time: so the stretch of work under way is this module's state, and functions need not be handed it.
 *
 * A stretch is some rows. It pauses when it takes too long by the clock, and its caller does it again with fewer rows.
 * A single row cannot pause. Its work is counted in steps of about a nanosecond, as functions announce them before
 * they do it, and a row that takes too many is refused. So is the folding of constants.
 */

/** Steps that the functions of one row may take, and all constants of a predicate together. */
export const mostStepsAtOnce = 30_000_000
/** Steps that the functions of one scan may take for all rows: some minutes. */
export const mostStepsInAll = 100_000_000_000
/** Milliseconds after which a stretch of several rows pauses. */
const stretchMillis = 5
/** Steps of a stretch that are known to take longer than that. */
const stretchSteps = stretchMillis * 1_000_000
/** Steps between looks at the clock, which take some 40 ns each. */
const lookEvery = 20_000

/** What is thrown when a stretch pauses. */
export const pause = { name: 'Pause', message: 'Evaluation pauses.' } as const

/** Some rows that are evaluated at once, or one, or the constants of a predicate. */
export class Stretch {
  /** The steps that functions took so far. */
  steps = 0
  nextLook = lookEvery
  readonly mayPause: boolean
  readonly until: number

  constructor(mayPause: boolean, millis: number = stretchMillis) {
    this.mayPause = mayPause
    this.until = performance.now() + millis
  }

  run<T>(work: () => T): T {
    const outer = current
    current = this
    try {
      return work()
    } finally {
      current = outer
    }
  }
}

const unbounded = new Stretch(false, Infinity)
let current = unbounded

/** Does the work of constants, which cannot pause, within the bound of one row. */
export function boundConstants<T>(work: () => T): T {
  return new Stretch(false, Infinity).run(work)
}

/** Pauses when the stretch took too long. */
export function look(): void {
  if (current.mayPause && performance.now() > current.until) throw pause
}

/** The same after work that need not be done again, so that a single row pauses, too. */
export function lookAfterProgress(): void {
  if (performance.now() > current.until) throw pause
}

/** Adds steps that any row may take. Pauses when the stretch took too long. */
export function spend(steps: number): void {
  const stretch = current
  stretch.steps += steps
  if (stretch.steps < stretch.nextLook) return
  stretch.nextLook = stretch.steps + lookEvery
  look()
}

/** Announces steps that cannot be interrupted: several rows that would take too long pause before. */
export function expectSteps(steps: number): void {
  if (current.mayPause && steps > stretchSteps) throw pause
  spend(steps)
}

/** Announces the steps of a function; refuses those that are too many for one row. */
export function charge(steps: number, name: string, at: number): void {
  if (current !== unbounded && current.steps + steps > mostStepsAtOnce) {
    if (current.mayPause && steps <= mostStepsAtOnce) throw pause
    throw tooCostly(name, at)
  }
  spend(steps)
}

function tooCostly(name: string, at: number): CatalogError {
  return invalid(
    `The predicate takes too much work: ${name} at offset ${at} goes beyond the ${mostStepsAtOnce} steps of work ` +
      'that one row, or all constants together, may take. Give functions shorter values, or fewer of them.',
  )
}

/** The steps that the functions of one scan may still take. */
export class WorkBudget {
  left: number
  readonly #most: number

  constructor(steps: number = mostStepsInAll, left: number = steps) {
    this.left = left
    this.#most = steps
  }

  /** Takes steps off; refuses what goes beyond the budget. */
  take(steps: number): void {
    this.left -= steps
    if (this.left >= 0) return
    throw invalid(
      `The functions of the predicate took more than ${this.#most} steps of work. ` +
        'Leave rows out by a comparison before AND, or give functions shorter values.',
    )
  }
}
