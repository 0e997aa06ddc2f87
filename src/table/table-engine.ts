import type { Schema, Table } from '@uwdata/flechette'
import type { Content } from '../content/content.ts'
import type { CatalogError } from '../errors.ts'
import type { Hold } from '../scheduling/byte-budget.ts'
import type { NewName } from './storage/object-names.ts'

/** Names the manifest of one table version. `path` is relative to the table's location. */
export interface ManifestRef {
  readonly path: string
  readonly size: number
  readonly etag: string
}

/** One version of a table's content as its manifest describes it. No row was read for this. */
export interface Snapshot {
  /** The table's location within the content: empty, or ending in a slash. */
  readonly prefix: string
  readonly manifest: ManifestRef
  /** The table's columns; `schema.metadata` is the table's schema metadata. */
  readonly schema: Schema
  readonly metadata: ReadonlyMap<string, string>
  /** Rows a query sees. */
  readonly rows: number
  /** Rows that were deleted but still take room in the fragments. */
  readonly deletedRows: number
  readonly fragments: number
  /** Bytes of the fragments, without deletions and manifests. */
  readonly bytes: number
}

export interface Progress {
  readonly rowsDone: number
  readonly rowsTotal: number
}

export interface WorkOptions {
  /** Stops the work, which then throws the signal's reason. Objects written before are orphans and do no harm. */
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: ((progress: Progress) => void) | undefined
}

export interface ApplyOptions extends WorkOptions {
  /** The number of the new version, if it is known. It only makes the manifest's file name readable. */
  readonly version?: number | undefined
}

/**
 * A change that may be applied to one base after the other until its result is committed. The slow work (writing
 * fragments, evaluating a predicate) is done once, so that applying the change to a newer base is cheap. Applying
 * only writes new objects. Nobody looks at them before the caller commits `snapshot.manifest`.
 */
export interface Change {
  apply(base: Snapshot, options?: ApplyOptions): Promise<Changed>
}

export interface Changed {
  readonly snapshot: Snapshot
  /** Rows added (insert, overwrite, restore: all rows there are now), deleted, or written anew. */
  readonly affected: number
}

export interface CountOptions extends WorkOptions {
  readonly predicate?: string | undefined
}

export interface QueryOptions extends WorkOptions {
  /**
   * Names of columns, or new names with the field path each stands for (`{ city: 'address.city' }`). Paths are
   * written as in predicates: dots between names, backticks around a name that holds a dot. Default: all columns.
   */
  readonly columns?: readonly string[] | Readonly<Record<string, string>> | undefined
  readonly filter?: string | undefined
  readonly limit?: number | undefined
  readonly offset?: number | undefined
  /** Most bytes of the answer; more are refused. Default: no limit. */
  readonly maxBytes?: number | undefined
  /** Where the memory of the answer is counted while it is made. */
  readonly memory?: Pick<Hold, 'take' | 'give'> | undefined
}

/** When fragments are merged, and how large they get. */
export interface OptimizeGoals {
  /** Most rows of a merged fragment. Default: as many as an insert puts into one. */
  readonly targetRows?: number | undefined
  /** About the most bytes of a merged fragment. Making it takes several times the memory. Default 128 MiB. */
  readonly targetBytes?: number | undefined
  /** Share of deleted rows, 0 to 1, from which a fragment is rewritten without them. Default 0.1. */
  readonly minDeletedShare?: number | undefined
  /**
   * Leaves a fragment alone that is far larger than what would be added to it. A growing table that is merged again
   * and again then writes each row only a few times.
   */
  readonly gentle?: boolean | undefined
}

/** The finding about one object of a table. */
export interface CheckedObject {
  /** From the root of the content. */
  readonly path: string
  /** Bytes that were read. */
  readonly bytes: number
  /** The manifest of the first version that needs it. */
  readonly manifest: ManifestRef
  /** The rows of the version, if the object is a sound manifest. */
  readonly rows?: number
  /** What is wrong with it. */
  readonly problem?: CatalogError
}

export interface EngineOptions {
  readonly content: Content
  /** Bytes of decoded columns, manifests and segments kept in memory. Default 256 MiB; 0 keeps nothing. */
  readonly cacheBytes?: number | undefined
  /** Makes object names that no other attempt at a change gets. Default: from the time and random bits. */
  readonly newName?: NewName | undefined
  /** The time in milliseconds since the epoch, which `now()` in predicates stands for. Default: the system's. */
  readonly now?: (() => number) | undefined
  /**
   * Worker threads that scan large tables whose content has a URL. They share `cacheBytes`.
   * Default 0: this thread scans all rows, in slices.
   */
  readonly threads?: number | undefined
  /**
   * Rows from which on worker threads scan a table. Default 4,000,000: one thread scans fewer rows in a few tens of
   * milliseconds, and starting workers takes as long.
   */
  readonly threadedRows?: number | undefined
  /**
   * Milliseconds that scans of such tables take on this thread before the workers are started. Default 250, about the
   * cost of starting them. With 0 the first scan waits for the workers.
   */
  readonly threadedAfter?: number | undefined
  /** Most rows a fragment gets. Default 1,048,576; rounded down to a multiple of 64. */
  readonly fragmentRows?: number | undefined
}

/** The engine of one writer. */
export interface WritingEngine extends TableEngine {
  /** Makes all objects durable that the engine has written. Call it before a record names one of them. */
  sync(): Promise<void>
}

/** Reads and writes the content of tables. The engine knows locations and manifests, but no names or versions. */
export interface TableEngine {
  /**
   * The same engine for one writer: the names of objects that it writes bear the mark of the writer. These objects are
   * durable once the engine's `sync` has resolved, and not before. All other objects are durable once they are written.
   */
  writtenBy(writer: string): WritingEngine
  /** Writes a table's rows and a first manifest under `prefix`. */
  create(prefix: string, table: Table, options?: ApplyOptions): Promise<Snapshot>
  /** Reads a manifest. Throws `InvalidTableState` for one that is missing, damaged or of a newer format. */
  open(prefix: string, ref: ManifestRef): Promise<Snapshot>
  /**
   * Writes the rows as fragments of a table like `base`. Columns are matched by name. Throws
   * `TableSchemaValidationError` for columns that differ. Applying the change throws `ConcurrentModification` when the
   * columns of the base have changed since.
   */
  insertRows(base: Snapshot, table: Table, options?: WorkOptions): Promise<Change>
  /** Writes the rows as fragments that will replace the whole content, schema and schema metadata included. */
  overwriteRows(prefix: string, table: Table, options?: WorkOptions): Promise<Change>
  /** Deletes the rows a predicate holds for. The predicate is checked when it is applied. */
  deleteRows(predicate: string): Change
  /** Replaces the schema metadata as a whole. */
  replaceSchemaMetadata(metadata: ReadonlyMap<string, string> | Readonly<Record<string, string>>): Change
  /** Makes the content what it was in `old`, a version of the same table. */
  restoreTo(old: Snapshot): Change
  /** Whether `optimizeRows` would find nothing to do. Reads no rows. */
  isOptimized(snapshot: Snapshot, goals?: OptimizeGoals): Promise<boolean>
  /**
   * Writes merged fragments for those of `base` that are small or have many deleted rows. Rows keep their order.
   * Applying the change to a newer base keeps what was inserted and deleted since. It returns the base itself when
   * nothing is left to replace.
   */
  optimizeRows(base: Snapshot, goals?: OptimizeGoals, options?: WorkOptions): Promise<Change>
  /** Counts all rows, or those that match a predicate. Reads no rows without a predicate. */
  countRows(snapshot: Snapshot, options?: CountOptions): Promise<number>
  /** Rows as the bytes of an Arrow IPC file, in the order they were inserted. */
  queryRows(snapshot: Snapshot, options?: QueryOptions): Promise<Uint8Array>
  /** The same: whole when it is short, otherwise in parts that are made as they are asked for. */
  streamRows(snapshot: Snapshot, options?: QueryOptions): Promise<Uint8Array | AsyncIterable<Uint8Array>>
  /** Paths, from the root of the content, of every object these versions need. A path may come more than once. */
  reachable(prefix: string, refs: Iterable<ManifestRef> | AsyncIterable<ManifestRef>): AsyncIterable<string>
  /**
   * Checks every object these versions need, each once, and reports the problem of a damaged one. Reads all bytes and
   * compares their checksums, or with `quick` those of manifests only.
   */
  check(
    prefix: string,
    refs: Iterable<ManifestRef>,
    options?: { readonly quick?: boolean | undefined; readonly signal?: AbortSignal | undefined },
  ): AsyncIterable<CheckedObject>
  /** Ends the worker threads. Scans under way go on without them. */
  close(): Promise<void>
}
