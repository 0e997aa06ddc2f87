/** Pseudorandom numbers from a seed. The suites have their own generator, so that they need no package. */
export interface Random {
  /** A whole number from 0 up to, but not including, `bound`. */
  below(bound: number): number
  pick<T>(items: readonly T[]): T
}

/** The generator known as mulberry32. */
export function random(seed: number): Random {
  let state = seed >>> 0
  const below = (bound: number) => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * bound)
  }
  return { below, pick: (items) => items[below(items.length)]! }
}
