import { setTimeout as sleep } from 'node:timers/promises'

/** How long a commit waits for others, in milliseconds. One commit takes about as long on a database nearby. */
const delayMillis = 2

/** After delays in which nobody came, the most commits that wait for nobody. */
const mostWithout = 64

/**
 * Lets bodies that are on their way join the next commit. A commit costs the database nearly the same for one body as
 * for many. But bodies that were committed together come back one by one, because their files take different times.
 * So a commit waits a moment if fewer are there than last time. One caller alone never waits. Where delays bring
 * nobody, most commits go without. The same idea: `commit_delay` of PostgreSQL.
 */
export class GroupDelay {
  #last = 1
  #without = 0
  #useless = 0

  /** Resolves when a commit should begin. `count` tells how many bodies would share it. */
  async wait(count: () => number): Promise<void> {
    const before = count()
    if (before < this.#last && this.#without-- <= 0) {
      await sleep(delayMillis)
      this.#useless = count() > before ? 0 : Math.min(this.#useless * 2 + 1, mostWithout)
      this.#without = this.#useless
    }
    this.#last = count()
  }
}
