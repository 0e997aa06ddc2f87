import type { Schema, Table } from '@uwdata/flechette'
import type { Content } from '../content/content.ts'
import type { CatalogError } from '../errors.ts'

/** Names the manifest of one table version. `path` is relative to the table's location. */
export interface ManifestRef {
  readonly path: string
  readonly size: number
  readonly etag: string
}

/** One version of a table's content, as its manifest tells it: no row was read to know this. */
export interface Snapshot {
  /** The table's location within the content: empty, or ending in a slash. */
  readonly prefix: string
  readonly manifest: ManifestRef
  /** The table's columns; `schema.metadata` is the table's schema metadata. */
  readonly schema: Schema
  readonly metadata: ReadonlyMap<string, string>
  /** Rows a query sees. */
  readonly rows: number
  /** Rows that were deleted and still lie in the fragments. */
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
  /** Stops the work; what it throws is the signal's reason. Objects written until then are harmless orphans. */
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: ((progress: Progress) => void) | undefined
}

export interface ApplyOptions extends WorkOptions {
  /** The number the version will have, if it is known: it makes the manifest's file name readable, no more. */
  readonly version?: number | undefined
}

/**
 * A change that may be applied to one base after the other until the result was committed: what is slow
 * (writing fragments, evaluating a predicate) was done before or is remembered, so that applying it to a
 * newer base is cheap. Applying writes new objects only; nobody sees them before the caller commits
 * `snapshot.manifest`, and all of them are durable by then.
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
   * Names of columns, or new names with the field path each stands for (`{ city: 'address.city' }`); a path
   * is written as in predicates: dots between names, backticks around a name that holds a dot. All columns
   * when absent.
   */
  readonly columns?: readonly string[] | Readonly<Record<string, string>> | undefined
  readonly filter?: string | undefined
  readonly limit?: number | undefined
  readonly offset?: number | undefined
}

/** When fragments are merged, and how large they get. */
export interface OptimizeGoals {
  /** Most rows of a merged fragment. Default: as many as an insert puts into one. */
  readonly targetRows?: number | undefined
  /** Most bytes of a merged fragment, about; several times as many are needed while it is made. Default 128 MiB. */
  readonly targetBytes?: number | undefined
  /** Share of deleted rows, 0 to 1, from which a fragment is written anew for their sake. Default 0.1. */
  readonly minDeletedShare?: number | undefined
  /**
   * Leaves a fragment alone that is far larger than what would be added to it, so that merging again and again
   * while a table grows writes each row only a few times.
   */
  readonly gentle?: boolean | undefined
}

/** An object of a table that was looked at. */
export interface CheckedObject {
  /** From the root of the content. */
  readonly path: string
  /** Bytes that were read. */
  readonly bytes: number
  /** The manifest of the first version that needs it. */
  readonly manifest: ManifestRef
  /** Of a sound manifest: the rows its version has. */
  readonly rows?: number
  /** What is wrong with it. */
  readonly problem?: CatalogError
}

export interface EngineOptions {
  readonly content: Content
  /** Bytes of decoded columns, manifests and segments kept in memory. Default 256 MiB; 0 keeps nothing. */
  readonly cacheBytes?: number | undefined
  /** Makes names of objects that no other attempt at a change gets. Default: of the time, and chance. */
  readonly newName?: (() => string) | undefined
  /** The time in milliseconds since the epoch, which `now()` in predicates stands for. Default: the system's. */
  readonly now?: (() => number) | undefined
  /**
   * Worker threads that scan large tables whose content is files. They share in `cacheBytes`.
   * Default 0: rows are scanned here, in slices.
   */
  readonly threads?: number | undefined
  /**
   * Rows from which on a table is scanned by worker threads. Default 4,000,000: below, one thread takes at most a
   * few tens of milliseconds, which is what starting workers does.
   */
  readonly threadedRows?: number | undefined
  /**
   * Milliseconds that scans of such tables take on this thread before the workers are started. Default 250, about what
   * that costs; with 0 the first scan waits for them.
   */
  readonly threadedAfter?: number | undefined
  /** Most rows a fragment gets. Default 1,048,576; rounded down to a multiple of 64. */
  readonly fragmentRows?: number | undefined
}

/** Reads and writes the content of tables. It knows locations and manifests; names and versions are its caller's. */
export interface TableEngine {
  /** Writes a table's rows and a first manifest under `prefix`. */
  create(prefix: string, table: Table, options?: ApplyOptions): Promise<Snapshot>
  /** Reads a manifest. `InvalidTableState` when it is missing, damaged or of a newer format. */
  open(prefix: string, ref: ManifestRef): Promise<Snapshot>
  /**
   * Writes the rows as fragments of a table like `base`. Columns are matched by name; a difference is a
   * `TableSchemaValidationError`. Applying it to a base whose columns are other by now is a
   * `ConcurrentModification`.
   */
  insertRows(base: Snapshot, table: Table, options?: WorkOptions): Promise<Change>
  /** Writes the rows as fragments that will replace all there is, schema and schema metadata included. */
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
   * Writes merged fragments for those of `base` that are small or have many deleted rows, which keep their rows
   * and the order of them. Applying it to a newer base keeps what was inserted and deleted since; it gives the
   * base itself back when there is nothing to replace in it (any more).
   */
  optimizeRows(base: Snapshot, goals?: OptimizeGoals, options?: WorkOptions): Promise<Change>
  /** How many rows there are, or a predicate holds for. Reads no rows without a predicate. */
  countRows(snapshot: Snapshot, options?: CountOptions): Promise<number>
  /** Rows as the bytes of an Arrow IPC file, in the order they were inserted. */
  queryRows(snapshot: Snapshot, options?: QueryOptions): Promise<Uint8Array>
  /** Paths, from the root of the content, of every object these versions need; one may come more than once. */
  reachable(prefix: string, refs: Iterable<ManifestRef> | AsyncIterable<ManifestRef>): AsyncIterable<string>
  /**
   * Looks at every object these versions need, each once, and tells of it what is wrong with it, if anything
   * is. Reads all bytes and compares their checksums, or with `quick` those of manifests only.
   */
  check(
    prefix: string,
    refs: Iterable<ManifestRef>,
    options?: { readonly quick?: boolean | undefined; readonly signal?: AbortSignal | undefined },
  ): AsyncIterable<CheckedObject>
  /** Ends the worker threads. What is under way goes on without them. */
  close(): Promise<void>
}
