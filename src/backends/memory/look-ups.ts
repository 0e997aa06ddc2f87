import type { Value } from '../../store/store.ts'

/** More than this is never remembered; a map of the engine's own holds four times as much at most. */
const most = 4_000_000

/**
 * Remembers what keys were found to hold, by their codes. Finding a record in a tree of a million takes ten
 * comparisons with strings that lie all over the memory, each a cache miss: 3 µs, where looking into a map takes
 * 0.5. It belongs to one store and is filled by reading, so that copies of a store go on costing nothing, and
 * writes next to nothing. Only what was there is remembered: a key that is new needs no forgetting.
 */
export class LookUps {
  readonly #values = new Map<string, Value>()

  get(code: string): Value | undefined {
    return this.#values.get(code)
  }

  remember(code: string, value: Value): void {
    if (this.#values.size >= most) this.#values.clear()
    this.#values.set(code, value)
  }

  forget(codes: readonly string[]): void {
    if (this.#values.size > 0) for (const code of codes) this.#values.delete(code)
  }
}
