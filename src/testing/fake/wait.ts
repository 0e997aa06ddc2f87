import type { ManualClock } from './clock.ts'

/** How long to wait: milliseconds of real time, milliseconds of the fake's clock, or until released. */
export type Span = number | { readonly clock: number } | 'released'

/**
 * Calls `go` when the span is over. Returns a function that cancels it. Looks up the global timer on each call, so that
 * a test runner's fake timers apply.
 */
export function after(span: Span, clock: ManualClock, go: () => void): () => void {
  if (span === 'released') return () => {}
  if (typeof span === 'object' && span.clock > 0) return clock.after(span.clock, go)
  const timer = setTimeout(go, typeof span === 'object' ? 0 : span)
  return () => clearTimeout(timer)
}

/** A set of waits that can be released together. */
export class Waits {
  readonly #waiting = new Set<() => void>()

  /** Waits for the span, or until released. Rejects with the signal's reason when that comes first. */
  wait(span: Span, clock: ManualClock, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason)
      const end = (settle: () => void) => {
        this.#waiting.delete(go)
        off()
        signal?.removeEventListener('abort', stop)
        settle()
      }
      const go = () => end(resolve)
      const stop = () => end(() => reject(signal!.reason))
      const off = after(span, clock, go)
      this.#waiting.add(go)
      signal?.addEventListener('abort', stop, { once: true })
    })
  }

  release(): void {
    for (const go of [...this.#waiting]) go()
  }
}
