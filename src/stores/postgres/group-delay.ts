import { performance, sleep } from '../../base/time.ts'

/** A commit waits for others half as long as the last commit took, within these bounds, in milliseconds. */
const leastMillis = 1
const mostMillis = 5

/** With each smaller group, fewer are expected to share the next commit. */
const shrinking = 0.75

/** After delays in which nobody came, the most commits that wait for nobody. */
const mostWithout = 64

/**
 * Lets bodies that are on their way join the next commit. A commit costs the database nearly the same for one body as
 * for many. But bodies that were committed together come back one by one, because their files take different times.
 * So a commit waits a moment if fewer are there than usual. One caller alone never waits. Where delays bring
 * nobody, most commits go without. The same idea: `commit_delay` of PostgreSQL.
 */
export class GroupDelay {
  #expected = 1
  #millis = leastMillis
  #without = 0
  #useless = 0

  /** Runs a commit of the bodies that `count` tells, after a delay if that is of use. */
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
