import type { Entry, Range, Store, Value } from '../../../store/store.ts'
import type { StorePlace } from '../store-suite.ts'

/** What a case of the store suite works on: an empty store in a place of its own. */
export interface StoreTrial {
  readonly store: Store
  readonly place: StorePlace
  readonly seed: number
  readonly histories: number
}

export function valuesOf(entries: Iterable<Entry>): Value[] {
  return Array.from(entries, ({ value }) => value)
}

/** The values of a range, in its order. */
export function read(store: Store, range: Range): Promise<Value[]> {
  return store.read((reader) => valuesOf(reader.range(range)))
}

/** All that a store holds. */
export function all(store: Store): Promise<Entry[]> {
  return store.read((reader) => [...reader.range({})])
}
