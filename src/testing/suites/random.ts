/**
 * Deterministic numbers from 0 to 1 (mulberry32, by Tommy Ettinger, public domain). Good enough to choose calls, and
 * without a dependency.
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

/** Seeded choices. */
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
