/**
 * Numbers from 0 to 1 that follow from a seed (mulberry32, by Tommy Ettinger, public domain): good enough to
 * choose calls by, and the same in every run. The suites need no package for it.
 */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Choices that follow from a seed. */
export interface Random {
  /** A whole number from 0 up to, but not including, `bound`. */
  below(bound: number): number
  pick<T>(items: readonly T[]): T
}

export function random(seed: number): Random {
  const next = seededRandom(seed)
  const below = (bound: number) => Math.floor(next() * bound)
  return { below, pick: (items) => items[below(items.length)]! }
}
