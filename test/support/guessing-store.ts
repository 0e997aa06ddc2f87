import type { Reader, Store, Writer } from '../../src/base/store/store.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'

/**
 * A store that runs each body several times, the first times on wrong guesses: no records, only those that a walk
 * meets, and no changes since. It models a store that learns by runs which records a body needs. Only the last run
 * counts.
 */
export function guessingStore(store: Store = memoryStore()): Store {
  const nothing: Reader = { get: () => undefined, range: () => [] }
  const guess = (body: (access: Writer) => unknown, { get, range }: Reader) => {
    try {
      const result = body({ get, range, put: () => {}, remove: () => {} } as Writer)
      if (result instanceof Promise) result.catch(() => {})
    } catch {
      // The guess was wrong.
    }
  }
  const guessWith = (body: (access: Writer) => unknown, reader: Reader) => {
    const range: Reader['range'] = (options) => reader.range(options)
    guess(body, { get: nothing.get, range })
    guess(body, { get: (key) => reader.get(key), range })
  }
  const later = () => new Promise((resolve) => setImmediate(resolve))
  return {
    features: store.features,
    async read<T>(body: (reader: Reader) => T) {
      guess(body, nothing)
      await later()
      return store.read((reader) => {
        guessWith(body, reader)
        return body(reader)
      })
    },
    async write<T>(body: (writer: Writer) => T) {
      guess(body, nothing)
      return store.write((writer) => {
        guessWith(body, writer)
        return body(writer)
      })
    },
    close: () => store.close(),
  }
}
