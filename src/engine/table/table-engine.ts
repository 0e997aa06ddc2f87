import type { Field, Schema, Table } from '@uwdata/flechette'
import type { Content } from '../../base/content/content.ts'
import type { CatalogError } from '../../base/errors.ts'
import type { Hold } from '../../base/scheduling/byte-budget.ts'
import type { ColumnAlteration } from './columns/alter.ts'
import type { FieldMetadataUpdate } from './columns/edits.ts'
import type { CheckedChange, NewIndex, TableIndex } from './indices/indices.ts'
import type { Measure } from './search/measures.ts'
import type { NewName } from './storage/object-names.ts'

/** Names the manifest of one table version. `path` is relative to the table's location. */
export interface ManifestRef {
  readonly path: string
  readonly size: number
  readonly etag: string
  /**
   * The folders of other tables whose files the version may name, relative to the table's location and each ending in a
   * slash. A manifest that names any others is refused.
   */
  readonly bases?: readonly string[] | undefined
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

/** A change of columns. What does not fit the table is refused by each of its members. */
export interface SchemaChange extends Change {
  /** Refuses what the columns do not allow. Reads no rows. */
  check(base: Snapshot): Promise<void>
  /** Does the slow work, so that applying the change takes less time. */
  prepare(base: Snapshot, options?: WorkOptions): Promise<void>
}

/** A column to add: with the values of an expression, or null in all rows. */
export type NewColumn = { readonly name: string; readonly expression: string } | { readonly field: Field }

export interface Changed {
  readonly snapshot: Snapshot
  /** Rows added (insert, overwrite, restore: all rows there are now), deleted, or written anew. */
  readonly affected: number
  /** What a merge did with these rows. */
  readonly counts?: RowCounts
}

/** How many rows a merge inserted, updated and deleted. */
export interface RowCounts {
  readonly inserted: number
  readonly updated: number
  readonly deleted: number
}

/** The new values of columns, and which rows get them. */
export interface UpdateOptions {
  /** Columns, each with the expression of its new value. */
  readonly updates: readonly (readonly [column: string, expression: string])[]
  /** Default: all rows. */
  readonly predicate?: string | undefined
}

/** What a merge does with rows that match, and with those that do not. */
export interface MergeOptions {
  /** The columns, or paths of fields, whose values are the same in rows that match. Null is the same as nothing. */
  readonly on: readonly string[]
  /** What becomes of rows of the table that match. */
  readonly matched: 'update' | 'delete' | undefined
  /** Only pairs of rows that this is true of are updated. It names columns as `source.x` and `target.x`. */
  readonly matchedIf?: string | undefined
  /** Whether rows that match none of the table are inserted. */
  readonly inserts: boolean
  /** What becomes of rows of the table that match none of the source. */
  readonly orphans: 'keep' | 'delete'
  /** Only those that this is true of are deleted. */
  readonly orphansIf?: string | undefined
}

export interface CountOptions extends WorkOptions {
  readonly predicate?: string | undefined
}

export interface QueryOptions extends WorkOptions {
  /**
   * Names of columns, or new names with the field path each stands for (`{ city: 'address.city' }`). Paths are
   * written as in predicates: dots between names, backticks around a name that holds a dot. What is no column is an
   * expression for values. Default: all columns.
   */
  readonly columns?: readonly string[] | Readonly<Record<string, string>> | undefined
  /** Whether the answer has the ids of rows, as the column `_rowid`. */
  readonly withRowId?: boolean | undefined
  /** What rows are sorted by: the first key first. Rows that are equal keep the order they were inserted in. */
  readonly orderBy?: readonly Ordering[] | undefined
  /** Most keys to sort by, without those that decide nothing. Default: 64. */
  readonly mostKeys?: number | undefined
  readonly filter?: string | undefined
  /** Most rows; of a search, most rows for each vector, and 10 by default. */
  readonly limit?: number | undefined
  readonly offset?: number | undefined
  /** Finds the rows whose vectors are nearest, and answers them in the order of their distances. */
  readonly search?: VectorSearch | undefined
  /** Called when a step of the query is done. */
  readonly onStep?: ((step: QueryStep) => void) | undefined
  /** Most bytes of the answer; more are refused. Default: no limit. */
  readonly maxBytes?: number | undefined
  /** Where the memory of the answer is counted while it is made. */
  readonly memory?: Pick<Hold, 'take' | 'give'> | undefined
  /**
   * A column of the answer under a type that its reader knows, with the same values; the same field where the reader
   * knows its type. Default: the columns as they are.
   */
  readonly plain?: ((field: Field) => Field) | undefined
}

/** A step of a query that was run. */
export interface QueryStep {
  /** What it made: the rows of the answer, or their columns. */
  readonly name: 'rows' | 'columns'
  /** Rows that it gave to the next step. */
  readonly rows: number
  readonly milliseconds: number
}

/** A search for the nearest vectors. Every vector is compared, so it finds exactly these. */
export interface VectorSearch {
  /** The vectors to search for, one after the other. */
  readonly vectors: readonly (readonly number[])[]
  /** The path of the column. Default: the only one with vectors of that dimension. */
  readonly column?: string | undefined
  /** Default: `hamming` for unsigned bytes, otherwise `l2`. */
  readonly measure?: Measure | undefined
  /** Only rows at this distance or farther. */
  readonly lower?: number | undefined
  /** Only rows nearer than this. */
  readonly upper?: number | undefined
  /** Whether the search is among the rows that match the filter. Otherwise the rows found are filtered. Default true. */
  readonly prefilter?: boolean | undefined
}

/** A key that rows are sorted by. */
export interface Ordering {
  /** The name or path of a column. */
  readonly column: string
  /** From the greatest to the least. */
  readonly descending?: boolean | undefined
  /** Whether nulls come before all values. By default they come behind, in both directions. */
  readonly nullsFirst?: boolean | undefined
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
   * Worker threads that scan large tables whose content has a URL, and compute new columns of them. They share `cacheBytes`.
   * Default 0: this thread does all of it, in slices.
   */
  readonly threads?: number | undefined
  /**
   * Rows from which on worker threads scan a table. Default 4,000,000: one thread scans fewer rows in a few tens of
   * milliseconds, and starting workers takes as long. From half as many on they compute new columns.
   */
  readonly threadedRows?: number | undefined
  /**
   * Milliseconds that scans of such tables take on this thread before the workers are started. Default 250, about the
   * cost of starting them. With 0 the first scan waits for the workers.
   */
  readonly threadedAfter?: number | undefined
  /**
   * Most bytes that an update, a merge or a change of columns may write beyond as many as the table holds; more are
   * refused before anything is written. Default: no limit.
   */
  readonly growthBytes?: number | undefined
  /** Most rows a fragment gets. Default 1,048,576; rounded down to a multiple of 64. */
  readonly fragmentRows?: number | undefined
}

/** The engine of one writer. */
export interface WritingEngine extends TableEngine {
  /**
   * Resolves when all objects are whole that the engine has written, durable or not. Before, a manifest may not be there
   * yet: only its snapshot is to be used.
   */
  written(): Promise<void>
  /** Makes them durable. Call it before a record names one of them. */
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
  /**
   * Gives new values to columns of rows. Updated rows come after all others. Throws `TableColumnNotFound` or
   * `InvalidInput` for columns and expressions that do not fit the base; applying it throws `InvalidInput` when an
   * expression fails for a row.
   */
  updateRows(base: Snapshot, update: UpdateOptions, options?: WorkOptions): Promise<Change>
  /**
   * Merges rows into a table like `base`. Columns are matched by name; those that the rows lack keep their values when
   * rows are updated. Throws `TableSchemaValidationError` for columns that do not fit, and `InvalidInput` when several
   * rows would update one. Updated rows come after all others, and inserted ones after these.
   */
  mergeRows(base: Snapshot, table: Table, merge: MergeOptions, options?: WorkOptions): Promise<Change>
  /** Replaces the schema metadata as a whole. */
  replaceSchemaMetadata(metadata: ReadonlyMap<string, string> | Readonly<Record<string, string>>): Change
  /** Records indexes on columns, one after the other. They hold no rows, and change no answer. */
  createIndices(indices: readonly NewIndex[]): CheckedChange
  /** Forgets an index. */
  dropIndex(name: string): CheckedChange
  /** The indexes of a version, by name. */
  indicesOf(snapshot: Snapshot): readonly TableIndex[]
  /** The index of that name. Throws `TableIndexNotFound`. */
  indexOf(snapshot: Snapshot, name: string): TableIndex
  /**
   * Adds columns behind the others. Expressions see the columns there are, and are computed once for each row. Files
   * that are there stay as they are.
   */
  addColumns(columns: readonly NewColumn[]): SchemaChange
  /** Renames columns, changes their types, or whether they may be null. All paths are those before the change. */
  alterColumns(alterations: readonly ColumnAlteration[]): SchemaChange
  /** Takes columns away, and fields of structs. Their bytes stay until the fragments are optimized. */
  dropColumns(paths: readonly string[]): SchemaChange
  /** Changes the metadata of fields. */
  updateFieldMetadata(updates: readonly FieldMetadataUpdate[]): SchemaChange
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
  /** How a query would be run, a line for each step, the last one first. Refuses what the query would be refused for. */
  explainQuery(snapshot: Snapshot, options?: QueryOptions): Promise<readonly string[]>
  /**
   * Writes a manifest under `prefix` that names the files of `source`, a version of another table in the same content. No
   * row is read. The bases of the snapshot's manifest are the folders that the files lie in.
   */
  shareRows(prefix: string, source: Snapshot, options?: ApplyOptions): Promise<Snapshot>
  /** Copies the files of `source`, a version of a table in the content `from`, and writes a manifest that names the copies. */
  copyRows(prefix: string, source: Snapshot, from: Content, options?: ApplyOptions): Promise<Snapshot>
  /** The number of live rows of each fragment, in order. */
  fragmentRows(snapshot: Snapshot): Promise<readonly number[]>
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
  /** What is kept in memory of what was read, without what worker threads keep. */
  readonly cacheUse: CacheUse
  /** Ends the worker threads. Scans under way go on without them. */
  close(): Promise<void>
}

/** The use of a cache in memory. */
export interface CacheUse {
  /** Bytes kept at the moment, and at most. */
  readonly bytes: number
  readonly limit: number
  /** How often a value was there when it was asked for, and how often it had to be read. */
  readonly hits: number
  readonly misses: number
}
