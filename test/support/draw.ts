/** Seeded random choices. */
export class Draw {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  /** From 0 up to 1. */
  next(): number {
    // Mulberry32, by Tommy Ettinger: https://gist.github.com/tommyettinger/46a874533244883189143505d203312c
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let t = this.#state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }

  below(end: number): number {
    return Math.floor(this.next() * end)
  }

  chance(of: number): boolean {
    return this.next() < of
  }

  oneOf<T>(items: readonly T[]): T {
    return at(items, this.below(items.length))
  }

  /** A small count, one near the bound, the bound, or any between. */
  countUpTo(most: number): number {
    return Math.max(1, this.oneOf([1, 2, Math.floor(most / 10), most - 1, most, this.below(most + 1)]))
  }
}

/** A random item of a list that is not empty. */
export function at<T>(items: readonly T[], index: number): T {
  const item = items[index]
  if (item === undefined) throw new RangeError(`There is no item ${index} of ${items.length}.`)
  return item
}
