/** How much is asked: a few seconds a question, a few minutes in all, or the big ones too. */
export type Scale = 'quick' | 'usual' | 'full'

const scale = (process.env.BENCH_SCALE ?? 'usual') as Scale

/** One value for each scale; what is not given for `full` is as usual. */
export function pick<T>(quick: T, usual: T, full: T = usual): T {
  return { quick, usual, full }[scale]
}

/** How often contenders take turns, besides the round that warms up. */
export const rounds = pick(3, 7)

/** The sizes of catalogs that are compared. */
export const sizes: readonly number[] = pick([1_000, 10_000], [1_000, 100_000, 1_000_000])

/** The biggest of them. */
export const most = sizes.at(-1)!

/** A number as people write it. */
export const count = (value: number): string => value.toLocaleString('en')
