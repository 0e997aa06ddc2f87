/** Values that are remembered at most. */
const mostKeys = 10_000
/** Bytes of these values, as a multiple of what may be kept of them. */
const mostTimes = 4

interface Wanted {
  readonly size: number
  readonly spent: number
}

/**
 * Remembers what it cost to read parts of values that are not kept. Reading parts again and again costs more than keeping
 * the value, and a value that is driven out by the next one is kept for nothing. Nobody knows what will be asked for. A
 * value that is kept once its parts have cost as much costs twice as much as was necessary, at most.
 */
export class Demand {
  /** Those that were asked for last come last. */
  readonly #wanted = new Map<string, Wanted>()
  #bytes = 0

  /** Notes that parts are needed. Returns whether the whole should be read, since it has room beside all others. */
  add(key: string, size: number, cost: number, limit: number): boolean {
    // It has no room however often it is asked for, and takes none from others.
    if (size > limit) return false
    const spent = (this.#wanted.get(key)?.spent ?? 0) + cost
    this.#forget(key)
    this.#wanted.set(key, { size, spent })
    this.#bytes += size
    const hasRoom = this.#bytes <= limit
    for (const oldest of this.#wanted.keys()) {
      if (this.#wanted.size <= mostKeys && this.#bytes <= limit * mostTimes) break
      this.#forget(oldest)
    }
    return spent > size && hasRoom
  }

  #forget(key: string): void {
    this.#bytes -= this.#wanted.get(key)?.size ?? 0
    this.#wanted.delete(key)
  }
}
