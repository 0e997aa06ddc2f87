import { type CatalogError, invalid } from '../../base/errors.ts'
import { performance } from '../../base/time.ts'

/*
 * What planning and evaluation cost, so that no predicate holds up others. Both are synchronous, and one thread does
 * one thing at a time: so the stretch of work under way is this module's state, and functions need not be handed it.
 *
 * A stretch pauses by throwing, and its caller does it again. Several rows are then fewer. For a plan, or for a single
 * row, the work keeps what it has done, and finds it when it is done again.
 *
 * What cannot pause is counted in steps of about a nanosecond, as functions announce them before they do it. What
 * takes too many between two places where it could pause is refused.
 */

/** Steps that may be taken between two places where work could pause: for one row, or for one constant. */
export const mostStepsAtOnce = 10_000_000
/** Steps that all constants of a predicate may take together. */
const mostStepsOfConstants = 100_000_000
/** Steps that the functions of one scan may take for all rows: some minutes. */
const mostStepsInAll = 100_000_000_000
/** Milliseconds after which a stretch pauses. */
const stretchMillis = 5
/** Steps of a stretch that are known to take longer than that. */
const stretchSteps = stretchMillis * 1_000_000
/** Steps between looks at the clock, which take some 40 ns each. */
const lookEvery = 20_000
/** Parts of a plan that are kept between looks at the clock: each takes a microsecond or a few. */
const keptEvery = 32
/** Steps of one call that are done in pieces. */
export const stepsOfPiece = 1_000_000
/** Bytes of values of no fixed size that several rows may make before they pause, and are done again as fewer. */
const mostBytes = 8 << 20
/** The same of one row, or of one constant: more are refused. */
const mostBytesOfRow = 64 << 20
/** Bytes of a slice below which twice as many rows may be tried next. */
export const fewBytes = mostBytes >> 1

/** What is thrown when a stretch pauses. */
export const pause = { name: 'Pause', message: 'Evaluation pauses.' } as const

/** What work has done so far, kept for when it is done again. */
export class Progress {
  readonly kept = new Map<unknown, unknown>()
  /** The steps that it took so far. */
  steps = 0
}

/** Some rows that are evaluated at once, or one, or a predicate that is planned. */
export class Stretch {
  /** The steps that functions took so far. */
  steps: number
  /** The steps that they had taken at the last place where the work could pause. */
  mark: number
  nextLook: number
  /** Bytes of the values of no fixed size that were made so far, and may all be in memory. */
  bytes = 0
  /** Parts that were kept since the last look at the clock; -1 before the first one. */
  unlooked = -1
  /** Whether it may pause anywhere, as it will be done again in smaller parts. */
  readonly mayPause: boolean
  readonly millis: number
  until: number
  /** What was done of it before; undefined for several rows. */
  readonly progress: Progress | undefined
  /** The steps that it may take in all. */
  readonly most: number

  constructor(
    mayPause: boolean,
    millis: number = stretchMillis,
    progress?: Progress,
    most: number = Number.POSITIVE_INFINITY,
  ) {
    this.steps = progress?.steps ?? 0
    this.mark = this.steps
    this.nextLook = this.steps + lookEvery
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

const unbounded = new Stretch(false, Number.POSITIVE_INFINITY)
let current = unbounded

/** Plans at once: the work of constants is bounded, and there are no pauses. */
export function planAtOnce<T>(work: () => T): T {
  const progress = new Progress()
  return new Stretch(false, Number.POSITIVE_INFINITY, progress, mostStepsOfConstants).run(work)
}

/** The same in steps of a few milliseconds: `work` is called again and again, and finds what it kept. */
export function* planInSteps<T>(work: () => T): Generator<void, T> {
  const progress = new Progress()
  for (;;) {
    const stretch = new Stretch(false, stretchMillis, progress, mostStepsOfConstants)
    try {
      return stretch.run(work)
    } catch (error) {
      if (error !== pause) throw error
    }
    progress.steps = stretch.steps
    yield
  }
}

/** Pauses when the stretch took too long. */
export function look(): void {
  if (current.mayPause && performance.now() > current.until) throw pause
}

/** The same after work that need not be done again, so that a single row pauses, too. */
export function lookAfterProgress(): void {
  current.mark = current.steps
  if (performance.now() > current.until) throw pause
}

/**
 * What `make` gives. It is kept, so that work which pauses and is done again finds it. It must do so by the same `key`:
 * one that is new each time would have it done forever.
 */
export function kept<T>(key: unknown, make: () => T): T {
  const known = recall<T>(key)
  if (known !== undefined) return known
  const made = make()
  if (current.progress === undefined) return made
  keep(key, made)
  afterPart()
  return made
}

/** What was kept by a key. */
export function recall<T>(key: unknown): T | undefined {
  const stretch = current
  const known = stretch.progress?.kept.get(key)
  if (known !== undefined) stretch.mark = stretch.steps
  return known as T | undefined
}

/** Keeps something for when the work is done again. */
export function keep(key: unknown, made: unknown): void {
  current.progress?.kept.set(key, made)
}

/** What `make` gives for each item. What was made is kept by `items`, which must be the same list when it is done again. */
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

/** Pauses when the stretch took too long. For each small part of the work that need not be done again. */
export function afterPart(): void {
  const stretch = current
  stretch.mark = stretch.steps
  // To find what was kept takes time, too. From here on it goes ahead.
  if (stretch.unlooked < 0 && stretch.progress !== undefined)
    stretch.until = performance.now() + stretch.millis
  if (++stretch.unlooked < keptEvery && stretch.steps < stretch.nextLook) return
  stretch.unlooked = 0
  stretch.nextLook = stretch.steps + lookEvery
  lookAfterProgress()
}

/** Adds steps that any row may take. Pauses when the stretch took too long. */
export function spend(steps: number): void {
  const stretch = current
  stretch.steps += steps
  if (stretch.steps < stretch.nextLook || !stretch.mayPause) return
  stretch.nextLook = stretch.steps + lookEvery
  look()
}

/** Adds bytes of a value of no fixed size that is in memory now, and may stay there until all rows are done. */
export function hold(bytes: number): void {
  const stretch = current
  stretch.bytes += bytes
  if (stretch.bytes <= mostBytes || stretch === unbounded) return
  if (stretch.mayPause) throw pause
  if (stretch.bytes <= mostBytesOfRow) return
  throw invalid(
    `The values that the predicate makes of one row, or of constants, take more than ${mostBytesOfRow.toLocaleString('en')} bytes. ` +
      'Give functions shorter values, or fewer of them.',
  )
}

/** The same of values that were read. Those of one row are as long as they were stored. */
export function holdRead(bytes: number): void {
  const stretch = current
  stretch.bytes += bytes
  if (stretch.bytes > mostBytes && stretch.mayPause) throw pause
}

/** Announces steps that cannot be interrupted: several rows that would take too long pause before. */
export function expectSteps(steps: number): void {
  if (current.mayPause && steps > stretchSteps) throw pause
  spend(steps)
}

/** Announces the steps of a function; refuses those that are too many for one row. */
export function charge(steps: number, name: string, at: number): void {
  const stretch = current
  if (stretch !== unbounded) {
    if (stretch.mayPause && steps > stretchSteps && steps <= mostStepsAtOnce) throw pause
    if (stretch.steps - stretch.mark + steps > mostStepsAtOnce) {
      if (stretch.mayPause && steps <= mostStepsAtOnce) throw pause
      throw tooCostly(name, at, `${mostStepsAtOnce} steps of work that one row, or one constant, may take`)
    }
    if (stretch.steps + steps > stretch.most) throw tooManyConstants(name, at)
  }
  spend(steps)
}

/** Work of one call that is done in pieces. */
export interface Pieces<T> {
  /** Does a piece of some steps, and says how many these were: 0 when all is done. */
  advance(steps: number): number
  readonly result: T
}

/** Does work of a call that takes `steps` in all. `key` names it among all of its kind. */
export function inPieces<T>(key: string, steps: number, name: string, at: number, make: () => Pieces<T>): T {
  const stretch = current
  if (stretch.mayPause) expectSteps(steps)
  let work = stretch.progress?.kept.get(key) as Pieces<T> | undefined
  if (work === undefined) {
    if (stretch.steps + steps > stretch.most) throw tooManyConstants(name, at)
    work = make()
    stretch.progress?.kept.set(key, work)
  }
  for (let taken = work.advance(stepsOfPiece); taken > 0; taken = work.advance(stepsOfPiece)) {
    if (stretch.progress === undefined) continue
    stretch.steps += taken
    lookAfterProgress()
  }
  stretch.mark = stretch.steps
  return work.result
}

function tooManyConstants(name: string, at: number): CatalogError {
  return tooCostly(
    name,
    at,
    `${mostStepsOfConstants} steps of work that all constants of a predicate may take`,
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
