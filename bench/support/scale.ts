/** How much is asked: a few seconds a question; the usual sizes in few rounds; in many; or the big ones too. */
export type Scale = 'quick' | 'short' | 'usual' | 'full'

const scale = (process.env.BENCH_SCALE ?? 'usual') as Scale

/** One value for each scale; what is not given for `full` is as usual. */
export function pick<T>(quick: T, usual: T, full: T = usual): T {
  return { quick, short: usual, usual, full }[scale]
}

/** Whether contenders take few turns, at the usual sizes. */
export const isShort = scale === 'short'

/** How often contenders take turns, besides the round that warms up. */
export const rounds = isShort ? 3 : pick(3, 7)

/** The sizes of catalogs that are compared. */
export const sizes: readonly number[] = pick([1_000, 10_000], [1_000, 100_000, 1_000_000])

/** The biggest of them. */
export const most = sizes.at(-1)!

/** A number as people write it. */
export const count = (value: number): string => value.toLocaleString('en')
