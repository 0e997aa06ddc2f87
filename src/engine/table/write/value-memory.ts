import { ByteBudget, type Hold } from '../../../base/scheduling/byte-budget.ts'

/*
 * A request of a few bytes can create any number of values. All changes of a process share a limited memory for them. A
 * change reserves all that it may need at once, and holds little while it waits, so waiting changes cannot block each
 * other.
 */

const memory = new ByteBudget(256 << 20, Number.POSITIVE_INFINITY)

/** Fewer bytes are not counted, because the number of changes limits them. */
export const uncountedBytes = 1 << 20

/**
 * About the memory of an update: rows of a fragment, a copy of them while they are joined, and values being computed.
 */
export const updatedBytes = 128 << 20

/** The reservation of a change, or of a part of it, in the memory for new values. */
export class ValueHold {
  #hold: Hold | undefined

  get isHeld(): boolean {
    return this.#hold !== undefined
  }

  /** Reserves memory for values of at most `need` bytes, once `bytes` of them exceed what is not counted. */
  take(bytes: number, need: number, signal: AbortSignal | undefined): Promise<void> | undefined {
    if (bytes < uncountedBytes || this.#hold !== undefined) return undefined
    this.#hold = memory.hold()
    return this.#hold.take(Math.min(need, memory.total), signal)
  }

  /** Releases the reservation, if there is one. */
  release(): void {
    this.#hold?.release()
    this.#hold = undefined
  }
}
