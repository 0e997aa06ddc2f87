import type { TcpProxy } from './tcp-proxy.ts'

/** Probabilities of network faults for each chunk of bytes. */
export interface BadNetwork {
  /** The longest delay of each chunk, in milliseconds. */
  readonly delay: number
  /** The extra delay of some chunks, in milliseconds. */
  readonly held: { readonly share: number; readonly millis: number }
  /** A reset of the connection, some bytes later. */
  readonly resets: number
  /** A silent loss of the connection: no more bytes pass in either direction, without a reset. */
  readonly silences: number
}

/** Adds seeded random faults to a proxy. Returns the counts of faults so far. */
export function makeBad(proxy: TcpProxy, seed: number, { delay, held, resets, silences }: BadNetwork) {
  const random = randomFrom(seed)
  const counts = { delayed: 0, held: 0, resets: 0, silences: 0 }
  const wait = (): Promise<void> | undefined => {
    if (random() < silences) {
      counts.silences++
      return new Promise(() => {})
    }
    let millis = random() * delay
    if (random() < held.share) {
      counts.held++
      millis += random() * held.millis
    }
    counts.delayed++
    return millis < 1 ? undefined : new Promise((resolve) => setTimeout(resolve, millis))
  }
  const cut = (bytes: Buffer): number | undefined => {
    if (random() >= resets) return undefined
    counts.resets++
    return Math.floor(random() * bytes.length)
  }
  proxy.beforeSent = wait
  proxy.beforeAnswer = wait
  proxy.onSent = cut
  proxy.onAnswered = cut
  return counts
}

/** Removes the faults for existing and new connections. */
export function makeGood(proxy: TcpProxy): void {
  proxy.beforeSent = undefined
  proxy.beforeAnswer = undefined
  proxy.onSent = undefined
  proxy.onAnswered = undefined
}

/** Seeded random fractions (mulberry32). */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
