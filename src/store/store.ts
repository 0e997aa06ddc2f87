/**
 * What a catalog asks of the place it keeps its records in. A store is an ordered map from keys to plain
 * values with serializable transactions; it knows nothing of tables or namespaces.
 *
 * To write one: implement the members of {@link Store}; `state`, `inspect` and `copyTo` may be left out. Look at
 * `store/memory/store.ts` for a model. Keys hold at least one part and encode to at most {@link maxKeyBytes} bytes,
 * strings in them are well-formed and hold no character below U+0005, and numbers are finite. A catalog asks for
 * no others; a store refuses them all the same, with `InvalidInput`, as `checkedKey` does.
 */
export interface Store {
  /** What this store promises. The catalog and its test suites read the same object. */
  readonly features: StoreFeatures

  /**
   * Runs `body` on one consistent snapshot and answers with what it returns. `body` is synchronous; the
   * reader must not be used after it returned. What `body` throws is thrown to the caller.
   */
  read<T>(body: (reader: Reader) => T): Promise<T>

  /**
   * Runs `body` in a serializable transaction and answers with what it returns, once that is as durable as
   * the store makes it. When `body` throws, nothing of what it did remains and the caller gets the error.
   * `body` is synchronous and has no effect but through its writer: a store may run it more than once.
   */
  write<T>(body: (writer: Writer) => T): Promise<T>

  /**
   * Says which state the store is in, at once and for next to nothing; without it, whoever keeps what it read
   * cannot tell whether it still holds. Two calls on one store answer alike only if nothing was committed
   * between them, by any process: all that was read between them is what a read would give now. A commit
   * changes the state before it is acknowledged, and a state that is gone never comes back. Undefined when the
   * store cannot tell. Not to be called inside a body.
   *
   * ```ts
   * const before = store.state?.()
   * const kept = await store.read(look)
   * if (before !== undefined && store.state?.() === before) reuse(kept)   // what `look` gives, until it changes
   * ```
   */
  state?(): number | string | undefined

  /** Finishes what is under way and lets go of everything. Harmless when called again. */
  close(): Promise<void>

  /**
   * Looks for damage in what the store keeps on a disk, by reading it and nothing else, and without trusting
   * it: damage is answered, not stumbled over. For stores that can tell.
   */
  inspect?(options?: InspectOptions): Promise<StoreInspection>

  /**
   * Writes a consistent copy of all records into a folder that is there, as `openCatalog` of that folder finds
   * them, while others may go on writing. For stores that live in a folder.
   */
  copyTo?(folder: string): Promise<void>
}

export interface InspectOptions {
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: ((progress: { done: number; total: number }) => void) | undefined
}

export interface StoreInspection {
  /** What is damaged and where, as ends of a sentence; empty when nothing is. */
  readonly damage: readonly string[]
  /** Records looked at. */
  readonly records: number
  /** Those of them that carry no checksum. */
  readonly unsealed: number
}

export interface StoreFeatures {
  /** A resolved write survives the end of the process and of the machine. */
  readonly durable: boolean
  /** Several processes may open the same store at the same time. */
  readonly multiProcess: boolean
  /** The store can be copied in constant time (`snapshot`, `restore`, `fork`). */
  readonly snapshots: boolean
}

/**
 * A key: strings and numbers, compared part by part. Numbers come before strings; strings compare as their
 * UTF-8 bytes do (not as JavaScript compares them); a key comes before the longer keys that begin with it.
 */
export type Key = readonly (string | number)[]

/** A plain value: what JSON can hold, without `undefined` inside arrays. Never changed once it was put. */
export type Value = object | string | number

export interface Entry<V = Value> {
  readonly key: Key
  readonly value: V
}

/** Which entries to walk. All members may be combined; without any, every entry is meant. */
export interface Range {
  /** Only keys that begin with these parts and are longer than them. */
  readonly prefix?: Key
  /** Only keys at or after this one. */
  readonly start?: Key
  /** Only keys strictly before this one. */
  readonly end?: Key
  /** At most so many entries. */
  readonly limit?: number
  /**
   * Only the keys are looked at. A store may leave out what the values cost; what it gives instead of one does
   * not matter.
   */
  readonly keysOnly?: boolean
  /** From the last entry to the first. `start` and `end` keep their meaning. */
  readonly reverse?: boolean
}

export interface Reader {
  /** The value under `key`, or undefined. */
  get<V extends Value = Value>(key: Key): V | undefined
  /** Entries in key order. Inside a write, the transaction's own changes are seen. */
  range<V extends Value = Value>(range: Range): Iterable<Entry<V>>
}

export interface Writer extends Reader {
  put(key: Key, value: Value): void
  /** Removes the entry under `key`; nothing happens when there is none. */
  remove(key: Key): void
}

/** The longest encoded key a catalog ever asks a store to hold. */
export const maxKeyBytes = 1900
