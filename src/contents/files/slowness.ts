import { performance } from '../../base/time.ts'

/**
 * Whether the disk is slow. Until two answers in a row were, it is not: a single one may only have waited for other
 * programs. Then it is for a while.
 */
export class Slowness {
  readonly #slowMillis: number
  readonly #slowFor: number
  #slow = 0
  #until = 0

  /** An answer is slow after so many milliseconds, and the disk for so many. */
  constructor(slowMillis: number, slowFor: number) {
    this.#slowMillis = slowMillis
    this.#slowFor = slowFor
  }

  isSlow(now: number): boolean {
    return now < this.#until
  }

  /** Takes the time of an answer. */
  add(began: number, now: number): void {
    this.#slow = now - began > this.#slowMillis ? this.#slow + 1 : 0
    if (this.#slow < 2) return
    this.#slow = 0
    this.#until = now + this.#slowFor
  }
}

/** The system mostly has in memory what it tells of a file, and tells it in some microseconds. A thread takes 50 or more. */
const answers = new Slowness(0.2, 1_000)

/** What the system answers at once, or by way of a thread while it is slow. */
export async function quickly<T>(here: () => T, inThread: () => Promise<T>): Promise<T> {
  const began = performance.now()
  if (answers.isSlow(began)) return inThread()
  try {
    return here()
  } finally {
    answers.add(began, performance.now())
  }
}
