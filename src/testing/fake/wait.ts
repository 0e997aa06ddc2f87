import type { ManualClock } from './clock.ts'

/** How long to wait: milliseconds of real timers, milliseconds of the fake's clock, or until told to go on. */
export type Span = number | { readonly clock: number } | 'released'

/**
 * Calls `go` when the span is over; answers with how to call that off. The global timer is looked up when it is
 * needed, so that a test runner's own fake timers hold too.
 */
export function after(span: Span, clock: ManualClock, go: () => void): () => void {
  if (span === 'released') return () => {}
  if (typeof span === 'object' && span.clock > 0) return clock.after(span.clock, go)
  const timer = setTimeout(go, typeof span === 'object' ? 0 : span)
  return () => clearTimeout(timer)
}

/** Things that wait, all of which can be told to go on. */
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
