import type { TcpProxy } from './tcp-proxy.ts'

/** How often something goes wrong with the bytes that pass, as a share of what is sent or answered at once. */
export interface BadNetwork {
  /** Each waits up to so many milliseconds. */
  readonly delay: number
  /** Some wait this much longer. */
  readonly held: { readonly share: number; readonly millis: number }
  /** The connection is reset, some bytes further on. */
  readonly resets: number
  /** Nothing of the connection passes any more, and nobody is told: its other end has vanished. */
  readonly silences: number
}

/** Makes the network through a proxy bad, by random numbers that a seed gives. Returns what was done so far. */
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

/** Makes it good again, for connections that are still there and for new ones. */
export function makeGood(proxy: TcpProxy): void {
  proxy.beforeSent = undefined
  proxy.beforeAnswer = undefined
  proxy.onSent = undefined
  proxy.onAnswered = undefined
}

/** Random fractions that a seed gives (mulberry32). */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
