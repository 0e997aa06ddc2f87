import { invalid } from '../../base/errors.ts'

/** The clock of a fake catalog. Only `advance` and `set` move it. */
export interface FakeClock {
  /** Milliseconds since the epoch. */
  now(): number
  /** Moves forward by `millis` milliseconds, and fires the waits that are due. */
  advance(millis: number): void
  /** Sets the time: milliseconds since the epoch, a `Date`, or an ISO string. It may lie in the past. */
  set(time: number | Date | string): void
}

interface Waiting {
  readonly until: number
  readonly go: () => void
}

/** The default initial time: a round date that is obviously fake. */
const clockStart = Date.UTC(2026, 0, 1)

export class ManualClock implements FakeClock {
  #now: number
  #waiting: Waiting[] = []
  // A bound function, since the catalog takes it as its clock.
  readonly now = (): number => this.#now

  constructor(start: number | Date | string = clockStart) {
    this.#now = momentOf(start)
  }

  advance(millis: number): void {
    if (!(millis >= 0 && Number.isFinite(millis)))
      throw invalid(
        `clock.advance takes milliseconds from 0, not ${typeof millis === 'number' ? millis : JSON.stringify(millis)}. Use set to go back.`,
      )
    this.set(this.#now + millis)
  }

  set(time: number | Date | string): void {
    this.#now = momentOf(time)
    const due = this.#waiting.filter(({ until }) => until <= this.#now)
    this.#waiting = this.#waiting.filter(({ until }) => until > this.#now)
    for (const { go } of due.toSorted((a, b) => a.until - b.until)) go()
  }

  /** Calls `go` after `millis` milliseconds of this clock. Returns a function that cancels it. */
  after(millis: number, go: () => void): () => void {
    const waiting = { until: this.#now + millis, go }
    this.#waiting.push(waiting)
    return () => {
      this.#waiting = this.#waiting.filter((other) => other !== waiting)
    }
  }
}

/** The latest time that a Date can represent. */
const lastMoment = 8.64e15

function momentOf(time: number | Date | string): number {
  const millis = typeof time === 'number' ? time : new Date(time).getTime()
  if (millis >= 0 && millis <= lastMoment) return millis
  throw invalid(
    `${JSON.stringify(time)} is no time. Give milliseconds since the epoch, or an ISO date such as 2026-01-01T00:00:00Z.`,
  )
}

/** How long to wait: milliseconds of real time, milliseconds of the fake's clock, or until released. */
export type Span = number | { readonly clock: number } | 'released'

/**
 * Calls `go` when the span is over. Returns a function that cancels it. Looks up the global timer on each call, so that
 * a test runner's fake timers apply.
 */
export function after(span: Span, clock: ManualClock, go: () => void): () => void {
  if (span === 'released') return () => {}
  if (typeof span === 'object' && span.clock > 0) return clock.after(span.clock, go)
  const timer = setTimeout(go, typeof span === 'object' ? 0 : span)
  return () => clearTimeout(timer)
}

/** A set of waits that can be released together. */
export class Waits {
  readonly #waiting = new Set<() => void>()

  /** Waits for the span, or until released. Rejects with the signal's reason when that comes first. */
  wait(span: Span, clock: ManualClock, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason)
      const end = (settle: () => void) => {
        this.#waiting.delete(go)
        off()
        signal?.removeEventListener('abort', stop)
        settle()
      }
      const go = () => end(resolve)
      const stop = () => end(() => reject(signal!.reason))
      const off = after(span, clock, go)
      this.#waiting.add(go)
      signal?.addEventListener('abort', stop, { once: true })
    })
  }

  release(): void {
    for (const go of [...this.#waiting]) go()
  }
}
