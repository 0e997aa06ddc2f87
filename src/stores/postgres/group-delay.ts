import { performance, sleep } from '../../base/time.ts'

/** A commit waits for others half as long as the last commit took, within these bounds, in milliseconds. */
const leastMillis = 1
const mostMillis = 5

/** The factor by which the expected group size shrinks after a smaller group. */
const shrinking = 0.75

/** The most commits without a delay, after delays that did not enlarge the group. */
const mostWithout = 64

/**
 * Delays a commit so that more bodies share it (group commit). A commit costs the database nearly the same for one body
 * as for many. But bodies that were committed together return one by one, because their files take different times. So
 * a commit waits a moment if its group is smaller than usual. A single caller never waits. Where delays do not enlarge
 * the group, most commits skip them. `commit_delay` of PostgreSQL is the same idea.
 */
export class GroupDelay {
  #expected = 1
  #millis = leastMillis
  #without = 0
  #useless = 0

  /** Runs a commit of `count()` bodies, after a delay if that is useful. */
  async run(count: () => number, commit: () => Promise<void>): Promise<void> {
    const before = count()
    if (before < this.#expected && this.#without-- <= 0) {
      await sleep(this.#millis)
      this.#useless = count() > before ? 0 : Math.min(this.#useless * 2 + 1, mostWithout)
      this.#without = this.#useless
    }
    this.#expected = Math.max(count(), Math.floor(this.#expected * shrinking))
    const begun = performance.now()
    await commit()
    this.#millis = Math.min(Math.max((performance.now() - begun) / 2, leastMillis), mostMillis)
  }
}
