import { invalid } from '../../base/errors.ts'

/** The time of a fake catalog. It stands still until it is told to move. */
export interface FakeClock {
  /** Milliseconds since the epoch. */
  now(): number
  /** Moves on by so many milliseconds. What waits for a moment that has come by then goes on. */
  advance(millis: number): void
  /** Sets the time: milliseconds since the epoch, a `Date`, or an ISO string. It may lie in the past. */
  set(time: number | Date | string): void
}

interface Waiting {
  readonly until: number
  readonly go: () => void
}

/** When the clock of a fake begins, unless it is told otherwise: a round date that nobody takes for today. */
const clockStart = Date.UTC(2026, 0, 1)

export class ManualClock implements FakeClock {
  #now: number
  #waiting: Waiting[] = []
  // Passed around alone, as the catalog's clock.
  readonly now = (): number => this.#now

  constructor(start: number | Date | string = clockStart) {
    this.#now = momentOf(start)
  }

  advance(millis: number): void {
    if (!(millis >= 0 && Number.isFinite(millis)))
      throw invalid(`clock.advance takes milliseconds from 0, not ${String(millis)}. Use set to go back.`)
    this.set(this.#now + millis)
  }

  set(time: number | Date | string): void {
    this.#now = momentOf(time)
    const due = this.#waiting.filter(({ until }) => until <= this.#now)
    this.#waiting = this.#waiting.filter(({ until }) => until > this.#now)
    for (const { go } of due.toSorted((a, b) => a.until - b.until)) go()
  }

  /** Calls `go` once so many milliseconds have passed on this clock; answers with how to call that off. */
  after(millis: number, go: () => void): () => void {
    const waiting = { until: this.#now + millis, go }
    this.#waiting.push(waiting)
    return () => {
      this.#waiting = this.#waiting.filter((other) => other !== waiting)
    }
  }
}

/** The last moment that a Date can tell. */
const lastMoment = 8.64e15

function momentOf(time: number | Date | string): number {
  const millis = typeof time === 'number' ? time : new Date(time).getTime()
  if (millis >= 0 && millis <= lastMoment) return millis
  throw invalid(
    `${JSON.stringify(time)} is no time. Give milliseconds since the epoch, or an ISO date such as 2026-01-01T00:00:00Z.`,
  )
}
