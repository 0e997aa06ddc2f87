/** Most keys that are remembered. */
const mostKeys = 10_000
/** Most bytes of their values, as a multiple of the cache's limit. */
const rememberedFactor = 4

interface PartialReads {
  readonly size: number
  readonly spent: number
}

/**
 * Remembers the cost of reading parts of values that are not cached. Reading parts repeatedly costs more than caching
 * the value, but caching a value that the next one evicts is useless, and future requests are not known. If a value is
 * cached once its parts have cost as much as the whole, the total is at most twice the least possible cost.
 */
export class Demand {
  /** In order of the last request. */
  readonly #partialReads = new Map<string, PartialReads>()
  #bytes = 0

  /** Records that parts are needed. Returns whether to read the whole value, because it has room beside all others. */
  add(key: string, size: number, cost: number, limit: number): boolean {
    // Never fits into the cache, so it must not take room from others.
    if (size > limit) return false
    const spent = (this.#partialReads.get(key)?.spent ?? 0) + cost
    this.#forget(key)
    this.#partialReads.set(key, { size, spent })
    this.#bytes += size
    const hasRoom = this.#bytes <= limit
    for (const oldest of this.#partialReads.keys()) {
      if (this.#partialReads.size <= mostKeys && this.#bytes <= limit * rememberedFactor) break
      this.#forget(oldest)
    }
    return spent > size && hasRoom
  }

  #forget(key: string): void {
    this.#bytes -= this.#partialReads.get(key)?.size ?? 0
    this.#partialReads.delete(key)
  }
}
