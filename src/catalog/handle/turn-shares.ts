import { performance } from '../../base/time.ts'
import type { SessionOwner } from '../operations/framework/operation.ts'

/*
 * A caller who may only read a table could block its writers: it loses two runs, takes a turn, and begins again. So a
 * caller may keep turns at a table that it does not change for a tenth of the time, and for two whole turns in a row.
 */

/** A caller who kept a turn owes this many times its length without one. */
const restFactor = 9

/** A caller who owes as much as this takes no turn, in milliseconds. */
const maxOwed = 60_000

/** The most tables that callers owe for. At the limit, no caller takes a turn at a further one. */
const maxKnown = 10_000

/** What one caller may keep. */
export interface TurnShare {
  /** Whether the caller may take a turn at a branch now. */
  has(branch: string): boolean
  /** Notes how long the caller kept a turn there without a change. */
  spend(branch: string, millis: number): void
}

/** The shares of the callers of a server. */
export class TurnShares {
  /** The time at which nothing is owed any more, by caller and branch. The latest spending is last. */
  readonly #freeAt = new Map<string, number>()

  /** Undefined for callers without a name: each of them may do whatever the others may. */
  of(owner: SessionOwner): TurnShare | undefined {
    if (owner === undefined) return undefined
    const keyOf = (branch: string) => JSON.stringify([owner, branch])
    return {
      has: (branch) => {
        this.#forgetPaid()
        const freeAt = this.#freeAt.get(keyOf(branch))
        if (freeAt === undefined) return this.#freeAt.size < maxKnown
        return freeAt - performance.now() < maxOwed
      },
      spend: (branch, millis) => {
        const key = keyOf(branch)
        const from = Math.max(performance.now(), this.#freeAt.get(key) ?? 0)
        this.#freeAt.delete(key)
        this.#freeAt.set(key, from + restFactor * millis)
      },
    }
  }

  #forgetPaid(): void {
    const now = performance.now()
    for (const [key, freeAt] of this.#freeAt) {
      if (freeAt > now) return
      this.#freeAt.delete(key)
    }
  }
}
