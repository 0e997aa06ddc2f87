import { type CatalogError, invalid } from '../../base/errors.ts'
import { performance } from '../../base/time.ts'

/*
 * Limits for planning and evaluation, so that no predicate blocks others. Both are synchronous on one thread, so the
 * current attempt is this module's state, and functions need not pass it on.
 *
 * An attempt pauses by throwing `pause`, and its caller tries again: several rows with fewer rows, a plan or a single
 * row with the partial results of earlier attempts.
 *
 * Work that cannot pause is counted in steps of about a nanosecond, which functions charge in advance. Too many steps
 * between two points where the work could pause are refused.
 */

/** Most steps between two points where the work could pause: for one row, or for one constant. */
export const maxStepsAtOnce = 10_000_000
/** Most steps of all constants of a predicate together. */
const maxStepsOfConstants = 100_000_000
/** Most steps that the functions of one scan may take for all rows: some minutes. */
const maxStepsInAll = 100_000_000_000
/** Milliseconds after which an attempt pauses. */
const attemptMillis = 5
/** Steps that certainly take longer than an attempt may. */
const attemptSteps = attemptMillis * 1_000_000
/** Steps between checks of the clock, which take some 40 ns each. */
const stepsPerCheck = 20_000
/** Parts of a plan that are kept between checks of the clock: each takes a microsecond or a few. */
const partsPerCheck = 32
/** Steps of one piece of a call. */
export const stepsOfPiece = 1_000_000
/**
 * Bytes of values without a fixed size that several rows may create. With more they pause, and fewer rows are tried.
 */
const mostBytes = 8 << 20
/** The same for one row, or for one constant: more are refused. */
const maxBytesOfRow = 64 << 20
/** If a slice takes fewer bytes, the next one may have twice as many rows. */
export const fewBytes = mostBytes >> 1

/** Thrown when an attempt pauses. */
export const pause = { name: 'Pause', message: 'Evaluation pauses.' } as const

/** Partial results of earlier attempts. */
export class Progress {
  readonly kept = new Map<unknown, unknown>()
  /** The steps of earlier attempts. */
  steps = 0
}

/** An attempt to evaluate several rows, to evaluate one row, or to plan a predicate. */
export class Attempt {
  /** The steps that functions have taken so far. */
  steps: number
  /** `steps` at the last point where the work could pause. */
  mark: number
  nextCheck: number
  /** Bytes so far of values without a fixed size, all of which may be in memory. */
  bytes = 0
  /** Parts that were kept since the last check of the clock; -1 before the first one. */
  partsSinceCheck = -1
  /** Whether it may pause at any point, since its caller tries again with fewer rows. */
  readonly mayPause: boolean
  readonly millis: number
  until: number
  /** Results of earlier attempts; undefined for several rows. */
  readonly progress: Progress | undefined
  /** The most steps that it may take in all. */
  readonly most: number

  constructor(
    mayPause: boolean,
    millis: number = attemptMillis,
    progress?: Progress,
    most: number = Number.POSITIVE_INFINITY,
  ) {
    this.steps = progress?.steps ?? 0
    this.mark = this.steps
    this.nextCheck = this.steps + stepsPerCheck
    this.mayPause = mayPause
    this.millis = millis
    this.until = performance.now() + millis
    this.progress = progress
    this.most = most
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

const unbounded = new Attempt(false, Number.POSITIVE_INFINITY)
let current = unbounded

/** Plans without pauses: the work of constants is limited. */
export function planAtOnce<T>(work: () => T): T {
  const progress = new Progress()
  return new Attempt(false, Number.POSITIVE_INFINITY, progress, maxStepsOfConstants).run(work)
}

/** As `planAtOnce`, in steps of a few milliseconds: `work` is called repeatedly, and finds the results that it kept. */
export function* planInSteps<T>(work: () => T): Generator<void, T> {
  const progress = new Progress()
  for (;;) {
    const attempt = new Attempt(false, attemptMillis, progress, maxStepsOfConstants)
    try {
      return attempt.run(work)
    } catch (error) {
      if (error !== pause) throw error
    }
    progress.steps = attempt.steps
    yield
  }
}

/** Pauses if the attempt took too long. */
export function checkTime(): void {
  if (current.mayPause && performance.now() > current.until) throw pause
}

/** As `checkTime`, after work whose result is kept, so that a single row can pause, too. */
export function checkTimeAfterProgress(): void {
  current.mark = current.steps
  if (performance.now() > current.until) throw pause
}

/** The result of `make`, kept for later attempts, which must use the same `key`: otherwise the work never ends. */
export function kept<T>(key: unknown, make: () => T): T {
  const known = recall<T>(key)
  if (known !== undefined) return known
  const made = make()
  if (current.progress === undefined) return made
  keep(key, made)
  afterPart()
  return made
}

/** A kept result. */
export function recall<T>(key: unknown): T | undefined {
  const attempt = current
  const known = attempt.progress?.kept.get(key)
  if (known !== undefined) attempt.mark = attempt.steps
  return known as T | undefined
}

/** Keeps a result for later attempts. */
export function keep(key: unknown, made: unknown): void {
  current.progress?.kept.set(key, made)
}

/** The result of `make` for each item. Results are kept by `items`, so later attempts must pass the same list. */
export function mapInSteps<T, U>(items: readonly T[], make: (item: T) => U): readonly U[] {
  const { progress } = current
  if (progress === undefined) return items.map(make)
  const made = (progress.kept.get(items) as U[] | undefined) ?? []
  if (made.length === 0) progress.kept.set(items, made)
  while (made.length < items.length) {
    made.push(make(items[made.length]!))
    afterPart()
  }
  current.mark = current.steps
  return made
}

/** Pauses if the attempt took too long. Called after each small part of the work whose result is kept. */
export function afterPart(): void {
  const attempt = current
  attempt.mark = attempt.steps
  // Finding kept results takes time, too. New work begins here.
  if (attempt.partsSinceCheck < 0 && attempt.progress !== undefined)
    attempt.until = performance.now() + attempt.millis
  if (++attempt.partsSinceCheck < partsPerCheck && attempt.steps < attempt.nextCheck) return
  attempt.partsSinceCheck = 0
  attempt.nextCheck = attempt.steps + stepsPerCheck
  checkTimeAfterProgress()
}

/** Adds steps that any row may take. Pauses if the attempt took too long. */
export function spend(steps: number): void {
  const attempt = current
  attempt.steps += steps
  if (attempt.steps < attempt.nextCheck || !attempt.mayPause) return
  attempt.nextCheck = attempt.steps + stepsPerCheck
  checkTime()
}

/** Adds bytes of a value without a fixed size that is now in memory, and may stay there until all rows are done. */
export function chargeBytes(bytes: number): void {
  const attempt = current
  attempt.bytes += bytes
  if (attempt.bytes <= mostBytes || attempt === unbounded) return
  if (attempt.mayPause) throw pause
  if (attempt.bytes <= maxBytesOfRow) return
  throw invalid(
    `The values that the predicate makes of one row, or of constants, take more than ${maxBytesOfRow.toLocaleString('en')} bytes. ` +
      'Give functions shorter values, or fewer of them.',
  )
}

/** As `hold`, for values that were read. Those of one row are not limited, since they are stored that way. */
export function chargeReadBytes(bytes: number): void {
  const attempt = current
  attempt.bytes += bytes
  if (attempt.bytes > mostBytes && attempt.mayPause) throw pause
}

/** Charges steps that cannot be interrupted: several rows that would take too long pause in advance. */
export function expectSteps(steps: number): void {
  if (current.mayPause && steps > attemptSteps) throw pause
  spend(steps)
}

/** Charges the steps of a function; refuses too many for one row. */
export function charge(steps: number, name: string, at: number): void {
  const attempt = current
  if (attempt !== unbounded) {
    if (attempt.mayPause && steps > attemptSteps && steps <= maxStepsAtOnce) throw pause
    if (attempt.steps - attempt.mark + steps > maxStepsAtOnce) {
      if (attempt.mayPause && steps <= maxStepsAtOnce) throw pause
      throw tooCostly(name, at, `${maxStepsAtOnce} steps of work that one row, or one constant, may take`)
    }
    if (attempt.steps + steps > attempt.most) throw tooManyConstants(name, at)
  }
  spend(steps)
}

/** Work of one call that is divided into pieces. */
export interface Pieces<T> {
  /** Does a piece of about `steps` steps, and returns how many it took: 0 if all is done. */
  advance(steps: number): number
  readonly result: T
}

/** Does work of a call that takes `steps` in all. `key` identifies it among all such work. */
export function inPieces<T>(key: string, steps: number, name: string, at: number, make: () => Pieces<T>): T {
  const attempt = current
  if (attempt.mayPause) expectSteps(steps)
  let work = attempt.progress?.kept.get(key) as Pieces<T> | undefined
  if (work === undefined) {
    if (attempt.steps + steps > attempt.most) throw tooManyConstants(name, at)
    work = make()
    attempt.progress?.kept.set(key, work)
  }
  for (let taken = work.advance(stepsOfPiece); taken > 0; taken = work.advance(stepsOfPiece)) {
    if (attempt.progress === undefined) continue
    attempt.steps += taken
    checkTimeAfterProgress()
  }
  attempt.mark = attempt.steps
  return work.result
}

function tooManyConstants(name: string, at: number): CatalogError {
  return tooCostly(
    name,
    at,
    `${maxStepsOfConstants} steps of work that all constants of a predicate may take`,
  )
}

function tooCostly(name: string, at: number, bound: string): CatalogError {
  return invalid(
    `The predicate takes too much work: ${name} at offset ${at} goes beyond the ${bound}. ` +
      'Give functions shorter values, or fewer of them.',
  )
}

/** The steps that the functions of one scan may still take. */
export class WorkBudget {
  left: number
  readonly #most: number

  constructor(steps: number = maxStepsInAll, left: number = steps) {
    this.left = left
    this.#most = steps
  }

  /** Subtracts steps; throws if the budget is exceeded. */
  take(steps: number): void {
    this.left -= steps
    if (this.left >= 0) return
    throw invalid(
      `The functions of the predicate took more than ${this.#most} steps of work. ` +
        'Leave rows out by a comparison before AND, or give functions shorter values.',
    )
  }
}
