import type { Entry, Range, Store, Value } from '../../../base/store/store.ts'

/** The context of a case of the store suite: an empty store in its own place. */
export interface StoreTrial {
  readonly store: Store
  readonly place: StorePlace
  readonly seed: number
  readonly histories: number
}

export function valuesOf(entries: Iterable<Entry>): Value[] {
  return Array.from(entries, ({ value }) => value)
}

/** The values of a range, in order. */
export function read(store: Store, range: Range): Promise<Value[]> {
  return store.read((reader) => valuesOf(reader.range(range)))
}

/** All entries of a store. */
export function all(store: Store): Promise<Entry[]> {
  return store.read((reader) => [...reader.range({})])
}

/** A place where stores can be opened. Durable stores of one place share their records. */
export interface StorePlace {
  open(): Store | Promise<Store>
  /**
   * A place with what would remain if the process ended at this moment, such as a copy of the files. It tests a
   * durable store; without it, the suite only closes and opens the store again.
   */
  afterCrash?(): Promise<StorePlace>
  /** Called after each case, when all stores are closed. */
  dispose?(): void | Promise<void>
}
