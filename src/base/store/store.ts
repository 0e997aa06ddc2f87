import type { StoreHome } from './home.ts'

/**
 * The contract for the records of a catalog. A store is an ordered map from keys to plain values with serializable
 * transactions. It knows nothing of tables or namespaces.
 *
 * To write a store, implement the members of {@link Store}; `guess`, `state`, `now`, `inTurn`, `isTurnTaken`, `home`,
 * `metrics`, `inspect` and `copyTo` are optional. See
 * `stores/memory/store.ts` for an example. Keys hold at least one part and encode to at most {@link maxKeyBytes}
 * bytes. Strings in keys are well-formed and hold no character below U+0005, and numbers are finite. A catalog uses
 * no other keys. A store refuses other keys with `InvalidInput`, as `checkedKey` does.
 */
export interface Store {
  /** What this store guarantees. The catalog and its test suites read the same object. */
  readonly features: StoreFeatures

  /**
   * Runs `body` on one consistent snapshot and resolves to its result. `body` is synchronous, and must not use the
   * reader after it returned. An error that `body` throws reaches the caller.
   */
  read<T>(body: (reader: Reader) => T): Promise<T>

  /**
   * Runs `body` in a serializable transaction and resolves to its result, once the changes are as durable as the
   * store makes them. When `body` throws, none of its changes remain and the caller gets the error. `body` is
   * synchronous, and has no effects except through its writer: a store may run it more than once.
   */
  write<T>(body: (writer: Writer) => T): Promise<T>

  /**
   * Runs `body` at once on the records that this store read or wrote last, without a request to a server. Returns what
   * the body returns, or undefined if it throws or needs a record that is not known. The records may be outdated, and
   * may never have existed together. So only work whose commit compares all of them begins with a guess, and no refusal
   * follows from one. Optional, for stores that are asked over a network.
   */
  guess?<T>(body: (reader: Reader) => T): T | undefined

  /**
   * Returns the current state of the store, synchronously and at almost no cost. Caches use it to check whether their
   * reads are still current. Two calls return the same state only if no process committed between them, so
   * everything read between them is still current. A commit changes the state before it is acknowledged, and an old
   * state never returns. Undefined when it is unknown. Must not be called inside a body.
   *
   * ```ts
   * const before = store.state?.()
   * const cached = await store.read(body)
   * if (before !== undefined && store.state?.() === before) reuse(cached)   // `body` would return the same now
   * ```
   */
  state?(): number | string | undefined

  /**
   * The time in milliseconds since the epoch, the same for all processes with this store, synchronously. A catalog
   * compares it with times of other processes. Optional: without it, the clocks of all machines must agree.
   */
  now?(): number

  /**
   * Runs `work` while no other process with this store runs work of that name, as far as the store can ensure it.
   * Waiters get their turns in order. Work with several names takes all of their turns. The store takes them in its own
   * order, which avoids deadlocks. Turns save lost work, and nothing else may depend on them. A store may run work
   * without a turn, for example after a long wait. Optional.
   */
  inTurn?<T>(name: string | readonly string[], work: () => Promise<T>): Promise<T>

  /**
   * Whether work of that name runs in a turn now, or waits for one. Work without a turn ignores turns of others. So it
   * checks this now and then, so as not to win every race. Optional, beside `inTurn`.
   */
  isTurnTaken?(name: string): Promise<boolean>

  /**
   * Metrics of the store, for operators. Synchronous, at almost no cost, and without a request to a server. Optional,
   * and so is each number.
   */
  metrics?(): StoreMetrics

  /**
   * Where the records are, if the store can distinguish that location from any of a copy. The same for all processes
   * with this store, by whatever route. A catalog stores it, and refuses changes elsewhere: a copy would remove rows of
   * the original. Optional.
   */
  home?(): StoreHome | undefined

  /** Finishes the transactions under way and releases all resources. A second call does nothing. */
  close(): Promise<void>

  /**
   * Looks for damage in the store's files. It only reads, and survives damage: findings are returned, not thrown.
   * Optional, for stores with files.
   */
  inspect?(options?: InspectOptions): Promise<StoreInspection>

  /**
   * Writes a consistent copy of all records into an existing folder, which `openCatalog` can then open. Other
   * transactions may go on meanwhile. Optional, for stores in a folder.
   */
  copyTo?(folder: string): Promise<void>
}

/** Numbers of one open store. */
export interface StoreMetrics {
  /** How often bodies ran again, since other commits changed what they had read. */
  readonly lostCommits?: number
  /** Its connections to a database: busy ones, idle ones, and the most that it opens. */
  readonly connections?: {
    readonly used: number
    readonly idle: number
    readonly most: number
    /** The number of waiters for a connection. */
    readonly waiting: number
  }
  /** The free space on the disk of its files, for this user. */
  readonly freeBytes?: number
}

export interface InspectOptions {
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: ((progress: { done: number; total: number }) => void) | undefined
}

export interface StoreInspection {
  /** What is damaged and where, each as the end of a sentence; empty when the store is sound. */
  readonly damage: readonly string[]
  /** The number of inspected records. */
  readonly records: number
  /** How many of these records have no checksum. */
  readonly unsealed: number
}

export interface StoreFeatures {
  /** A resolved write survives the end of the process and of the machine. */
  readonly durable: boolean
  /** Several processes may open the same store at the same time. */
  readonly multiProcess: boolean
  /** The store can be copied in constant time (`snapshot`, `restore`, `fork`). */
  readonly snapshots: boolean
  /**
   * Objects of rows up to this many bytes are inline: in records, so that a small change is one commit. Default 0, for
   * stores where an object of the content costs no more than a record.
   */
  readonly inlineBytes?: number
}

/**
 * A key: strings and numbers, compared part by part. Numbers come before strings. Strings compare as their UTF-8 bytes
 * do, not as in JavaScript. A key comes before the longer keys that begin with it.
 */
export type Key = readonly (string | number)[]

/** A plain value: what JSON can hold, without `undefined` inside arrays. It must not change after it was put. */
export type Value = object | string | number

export interface Entry<V = Value> {
  readonly key: Key
  readonly value: V
}

/** Which entries to walk. All members may be combined; without any, the range is every entry. */
export interface Range {
  /** Only keys that begin with these parts and have further parts. */
  readonly prefix?: Key
  /** Only keys at or after this one. */
  readonly start?: Key
  /** Only keys strictly before this one. */
  readonly end?: Key
  /** At most this many entries. */
  readonly limit?: number
  /** Only the keys are needed. A store may skip reading the values, and return any value instead. */
  readonly keysOnly?: boolean
  /** From the last entry to the first. `start` and `end` keep their meaning. */
  readonly reverse?: boolean
}

export interface Reader {
  /** The value under `key`, or undefined. */
  get<V extends Value = Value>(key: Key): V | undefined
  /** Entries in key order. Inside a write, they include the transaction's own changes. */
  range<V extends Value = Value>(range: Range): Iterable<Entry<V>>
}

export interface Writer extends Reader {
  put(key: Key, value: Value): void
  /** Removes the entry under `key`, if it exists. */
  remove(key: Key): void
  /**
   * Puts a value after the last one under `prefix`, or as the first. The last part of its key is the next number as a
   * text of 16 digits, which counts from 1. So values are in the order of their commits, without gaps. The body cannot
   * read the value. Optional, for stores where a body that reads the last number itself would conflict with every other
   * commit.
   */
  append?(prefix: Key, value: Value): void
}

/** The longest encoded key that a catalog uses, in bytes. */
export const maxKeyBytes = 1900
