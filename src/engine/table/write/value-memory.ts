import { ByteBudget, type Hold } from '../../../base/scheduling/byte-budget.ts'

/*
 * A change of a few bytes can make any number of values. All changes of a process share the memory of those that they
 * make at a time. A change takes what it may need at once, and holds little while it waits. So none of them waits for
 * another one that waits.
 */

const memory = new ByteBudget(256 << 20, Number.POSITIVE_INFINITY)

/** Fewer bytes are not counted, because the number of changes bounds them. */
export const uncountedBytes = 1 << 20

/** About what an update holds: rows of a fragment, the same once more where they are joined, and values being made. */
export const updatedBytes = 128 << 20

/** What one change, or a part of it, holds of the memory for new values. */
export class ValueHold {
  #hold: Hold | undefined

  get isHeld(): boolean {
    return this.#hold !== undefined
  }

  /** Takes room for values that need `need` bytes at most, once `bytes` of them are too many not to be counted. */
  take(bytes: number, need: number, signal: AbortSignal | undefined): Promise<void> | undefined {
    if (bytes < uncountedBytes || this.#hold !== undefined) return undefined
    this.#hold = memory.hold()
    return this.#hold.take(Math.min(need, memory.total), signal)
  }

  /** Gives everything back. Harmless when nothing is held. */
  release(): void {
    this.#hold?.release()
    this.#hold = undefined
  }
}
