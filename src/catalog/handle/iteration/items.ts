import { anySignal } from '../../../base/scheduling/signals.ts'
import type { Items } from './types.ts'

/** Makes items one after the other. Its requests stop with the signal. */
export type Source<T> = (signal: AbortSignal) => AsyncGenerator<T, undefined>

/** The items of a source. Aborting `signal` rejects with its reason; `return()` stops the work at once. */
export function itemsOf<T>(source: Source<T>, signal: AbortSignal | undefined): Items<T> {
  const stop = new AbortController()
  const both = anySignal(signal, stop.signal)
  const generator = source(both)
  const done = { done: true, value: undefined } as const
  const items: Items<T> = {
    next: async () => {
      try {
        if (stop.signal.aborted) return done
        signal?.throwIfAborted()
        return await generator.next()
      } catch (error) {
        if (stop.signal.aborted) return done
        // A failed iteration releases everything, and does not go on.
        stop.abort()
        throw error
      }
    },
    return: async () => {
      stop.abort()
      await generator.return(undefined).catch(() => {})
      return done
    },
    [Symbol.asyncIterator]: () => items,
    [Symbol.asyncDispose]: async () => {
      await items.return()
    },
  }
  return items
}
