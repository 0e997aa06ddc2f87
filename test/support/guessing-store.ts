import { memoryStore } from '../../src/store/memory/index.ts'
import type { Reader, Store, Writer } from '../../src/store/store.ts'

/**
 * A store that runs each body first on what it guesses: that there are no records. So does a store that learns by a run
 * which records a body needs. Only the last run counts.
 */
export function guessingStore(store: Store = memoryStore()): Store {
  const nothing: Writer = { get: () => undefined, range: () => [], put: () => {}, remove: () => {} }
  const guess = (body: (access: Writer) => unknown) => {
    try {
      const result = body(nothing)
      if (result instanceof Promise) result.catch(() => {})
    } catch {
      // The guess was wrong.
    }
  }
  const later = () => new Promise((resolve) => setImmediate(resolve))
  return {
    features: store.features,
    async read<T>(body: (reader: Reader) => T) {
      guess(body)
      await later()
      return store.read(body)
    },
    async write<T>(body: (writer: Writer) => T) {
      guess(body)
      return store.write(body)
    },
    close: () => store.close(),
  }
}
