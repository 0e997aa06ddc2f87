import type { DataType, Field, Schema, Table } from '@uwdata/flechette'
import type { Content } from '../../base/content/content.ts'
import type { CatalogError } from '../../base/errors.ts'
import type { IndexType } from '../../base/model/index-types.ts'
import type { Hold } from '../../base/scheduling/byte-budget.ts'
import type { RowStream } from '../arrow/input/row-stream.ts'
import type { IndexParameters, ManifestRef, StoredIndex } from './format/manifest.ts'
import type { Measure } from './search/measures.ts'
import type { InlineObjects } from './storage/objects.ts'

/** One version of a table's content as described by its manifest. Opening it reads no row. */
export interface Snapshot {
  /** The table's location within the content: empty, or ending in a slash. */
  readonly prefix: string
  readonly manifest: ManifestRef
  /** The table's columns; `schema.metadata` is the table's schema metadata. */
  readonly schema: Schema
  readonly metadata: ReadonlyMap<string, string>
  /** Rows that a query sees. */
  readonly rows: number
  /** Deleted rows that still take space in the fragments. */
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
  /** Stops the work, which then throws the signal's reason. Objects written before become harmless orphans. */
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: ((progress: Progress) => void) | undefined
}

export interface ApplyOptions extends WorkOptions {
  /** The number of the new version, if known. It only makes the manifest's file name readable. */
  readonly version?: number | undefined
}

/**
 * A change that may be applied to one base after the other until its result is committed. The slow work (writing
 * fragments, evaluating a predicate) is done once, so that applying the change to a newer base is cheap. Applying only
 * writes new objects, which nothing refers to before the caller commits `snapshot.manifest`.
 */
export interface Change {
  apply(base: Snapshot, options?: ApplyOptions): Promise<ChangeResult>
}

/** A change that replaces the whole content, or makes the first one. */
export interface Overwrite extends Change {
  /** Makes the first version of a table that has none. */
  create(options?: ApplyOptions): Promise<Snapshot>
}

/**
 * Rows to write: a table, or a stream of tables. A stream is read once, and only as fast as it is written. If it fails,
 * so does the work, and files that it wrote are removed.
 */
export type ArrowRows = Table | RowStream

/** A change of columns. Each of its members throws if it does not fit the table. */
export interface SchemaChange extends Change {
  /** Throws if the columns do not allow the change. Reads no rows. */
  check(base: Snapshot): Promise<void>
  /** Does the slow work in advance, so that applying the change takes less time. */
  prepare(base: Snapshot, options?: WorkOptions): Promise<void>
}

/** A column to add: with the values of an expression, or null in all rows. */
export type NewColumn = { readonly name: string; readonly expression: string } | { readonly field: Field }

/** The result of a change that was applied to a base. */
export interface ChangeResult {
  readonly snapshot: Snapshot
  /** Rows added (insert, overwrite, restore: all current rows), deleted, or rewritten. */
  readonly affected: number
  /** The numbers of a merge. */
  readonly counts?: RowCounts
}

/** How many rows a merge inserted, updated and deleted. */
export interface RowCounts {
  readonly inserted: number
  readonly updated: number
  readonly deleted: number
}

/** The new values of columns, and the rows to update. */
export interface UpdateOptions {
  /** Columns, each with the expression of its new value. */
  readonly updates: readonly (readonly [column: string, expression: string])[]
  /** Default: all rows. */
  readonly predicate?: string | undefined
}

/** The actions of a merge on rows that match, and on those that do not. */
export interface MergeOptions {
  /** The key columns, or paths of fields: rows with equal values match. Null equals nothing. */
  readonly on: readonly string[]
  /** The action on rows of the table that match. */
  readonly matched: 'update' | 'delete' | undefined
  /** Restricts updates to pairs of rows for which this is true. It names columns as `source.x` and `target.x`. */
  readonly matchedIf?: string | undefined
  /** Whether to insert source rows that match none of the table. */
  readonly inserts: boolean
  /** The action on rows of the table that match none of the source. */
  readonly orphans: 'keep' | 'delete'
  /** Restricts deletes to rows for which this is true. */
  readonly orphansIf?: string | undefined
}

export interface CountOptions extends WorkOptions {
  readonly predicate?: string | undefined
}

export interface QueryOptions extends WorkOptions {
  /**
   * Names of columns, or new names with the field path of each (`{ city: 'address.city' }`). Paths are written as in
   * predicates: dots between names, backticks around a name that has a dot. Anything else is a value expression.
   * Default: all columns.
   */
  readonly columns?: readonly string[] | Readonly<Record<string, string>> | undefined
  /** Whether the answer has the ids of rows, as the column `_rowid`. */
  readonly withRowId?: boolean | undefined
  /** The sort keys, in order of priority. Equal rows keep their insertion order. */
  readonly orderBy?: readonly Ordering[] | undefined
  /** Most sort keys, without those that have no effect. Default: 64. */
  readonly maxKeys?: number | undefined
  readonly filter?: string | undefined
  /** Most rows; of a search, most rows for each vector, and 10 by default. */
  readonly limit?: number | undefined
  readonly offset?: number | undefined
  /** Finds the rows with the nearest vectors, in the order of their distances. */
  readonly search?: VectorSearch | undefined
  /** Called when a step of the query is done. */
  readonly onStep?: ((step: QueryStep) => void) | undefined
  /** Most bytes of the answer; more are refused. Default: no limit. */
  readonly maxBytes?: number | undefined
  /** Accounts for the memory of the answer while it is created. */
  readonly memory?: Pick<Hold, 'take' | 'give'> | undefined
  /**
   * Whether nobody is likely to read the rows again soon. Then they are read past the caches, and evict nothing there.
   * Has no effect on rows in an order and on searches, which read columns more than once. Default: false.
   */
  readonly isOnce?: boolean | undefined
  /**
   * Converts a column's field to a type that the answer's reader supports, with the same values; returns the same field
   * if the type is supported. Default: no conversion.
   */
  readonly plain?: ((field: Field) => Field) | undefined
}

/** What to tell of the rows that differ between two versions. */
export interface ChangesOptions
  extends WorkOptions,
    Pick<QueryOptions, 'withRowId' | 'limit' | 'offset' | 'maxBytes' | 'memory' | 'plain'> {
  /** The columns to compare and to answer. Default: all of the later version. */
  readonly columns?: readonly string[] | undefined
  /** The columns whose values tell rows apart. Without them no row is known to be updated. */
  readonly on?: readonly string[] | undefined
  /** Schema metadata of the answer, besides the table's. */
  readonly metadata?: Readonly<Record<string, string>> | undefined
}

/** A completed step of a query. */
export interface QueryStep {
  /** Its result: the rows of the answer, or their columns. */
  readonly name: 'rows' | 'columns'
  /** Rows passed to the next step. */
  readonly rows: number
  readonly milliseconds: number
}

/** A search for the nearest vectors. It compares every vector, so its result is exact. */
export interface VectorSearch {
  /** The vectors to search for, concatenated. */
  readonly vectors: readonly (readonly number[])[]
  /** The path of the column. Default: the only one with vectors of that dimension. */
  readonly column?: string | undefined
  /** Default: `hamming` for unsigned bytes, otherwise `l2`. */
  readonly measure?: Measure | undefined
  /** Only rows at this distance or farther. */
  readonly lower?: number | undefined
  /** Only rows nearer than this. */
  readonly upper?: number | undefined
  /**
   * Whether to search only among the rows that match the filter. Otherwise the found rows are filtered. Default true.
   */
  readonly prefilter?: boolean | undefined
}

/** A sort key. */
export interface Ordering {
  /** The name or path of a column. */
  readonly column: string
  /** Whether to sort from the greatest to the least value. */
  readonly descending?: boolean | undefined
  /** Whether nulls precede all values. By default they are last, in both directions. */
  readonly nullsFirst?: boolean | undefined
}

/** When fragments are merged, and how large they become. */
export interface OptimizeOptions {
  /** Most rows of a merged fragment. Default: as many as an insert writes into one. */
  readonly targetRows?: number | undefined
  /** About the most bytes of a merged fragment. Creating it takes several times the memory. Default 128 MiB. */
  readonly targetBytes?: number | undefined
  /** Share of deleted rows, 0 to 1, from which a fragment is rewritten without them. Default 0.1. */
  readonly minDeletedShare?: number | undefined
  /**
   * Leaves a fragment alone that is far larger than the rows to add to it. A growing table that is merged again and
   * again then writes each row only a few times.
   */
  readonly gentle?: boolean | undefined
  /** Files of indexes that are missing or damaged. They are replaced. */
  readonly broken?: ReadonlySet<string> | undefined
}

/** The result of checking one object of a table. */
export interface CheckedObject {
  /** Relative to the root of the content. */
  readonly path: string
  /** Bytes that were read. */
  readonly bytes: number
  /** The manifest of the first version that needs it. */
  readonly manifest: ManifestRef
  /** The rows of the version, if the object is an undamaged manifest. */
  readonly rows?: number
  /** The problem, if any. */
  readonly problem?: CatalogError
}

/** Rows that fit a table. They are not written yet. */
export interface MatchedRows {
  readonly rows: number
  /** About the bytes of memory that they take. */
  readonly bytes: number
}

/** The engine of one writer. */
export interface WritingEngine extends TableEngine {
  /**
   * Resolves when all objects of the engine are completely written, durable or not. Before, only the snapshot of a
   * change may be used, as its manifest may not exist yet.
   */
  written(): Promise<void>
  /** Makes all objects durable. Call it before a record refers to one of them. */
  sync(): Promise<void>
}

/** Reads and writes the content of tables. The engine knows locations and manifests, but no names or versions. */
export interface TableEngine {
  /**
   * The same engine for one writer: its object names include the mark of the writer. These objects are durable only
   * once the engine's `sync` has resolved. All other objects are durable once they are written. Small objects go to
   * `inline`, if it is given: the caller commits their records.
   */
  writtenBy(writer: string, inline?: InlineObjects): WritingEngine
  /** Writes a table's rows and a first manifest under `prefix`. */
  create(prefix: string, rows: ArrowRows, options?: ApplyOptions): Promise<Snapshot>
  /** Reads a manifest. Throws `InvalidTableState` for one that is missing, damaged or of a newer format. */
  open(prefix: string, ref: ManifestRef): Promise<Snapshot>
  /**
   * Writes the rows as fragments of a table like `base`. Columns match by name. Throws `TableSchemaValidationError` for
   * columns that differ. Applying the change throws `ConcurrentModification` if the columns of the base have changed
   * since.
   */
  insertRows(base: Snapshot, rows: ArrowRows, options?: WorkOptions): Promise<Change>
  /** Checks rows as `insertRows` does, and writes nothing. The buffers of the table must not change afterwards. */
  matchRows(base: Snapshot, table: Table, options?: WorkOptions): Promise<MatchedRows>
  /** As `insertRows`, for rows that were matched before with this base, or with one whose columns have changed since. */
  insertMatched(base: Snapshot, rows: readonly MatchedRows[], options?: WorkOptions): Promise<Change>
  /** Writes the rows as fragments that will replace the whole content, schema and schema metadata included. */
  overwriteRows(prefix: string, rows: ArrowRows, options?: WorkOptions): Promise<Overwrite>
  /** Deletes the rows for which a predicate is true. The predicate is checked when the change is applied. */
  deleteRows(predicate: string): Change
  /**
   * Updates columns of rows. Updated rows follow all others. Throws `TableColumnNotFound` or `InvalidInput` for columns
   * and expressions that do not fit the base; applying it throws `InvalidInput` if an expression fails for a row.
   */
  updateRows(base: Snapshot, update: UpdateOptions, options?: WorkOptions): Promise<Change>
  /**
   * Merges rows into a table like `base`. Columns match by name; updates do not change columns that the rows lack.
   * Throws `TableSchemaValidationError` for columns that do not fit, and `InvalidInput` if several rows would update
   * one. Updated rows follow all others, and inserted ones follow these.
   */
  mergeRows(base: Snapshot, table: Table, merge: MergeOptions, options?: WorkOptions): Promise<Change>
  /** Replaces the schema metadata as a whole. */
  replaceSchemaMetadata(metadata: ReadonlyMap<string, string> | Readonly<Record<string, string>>): Change
  /**
   * Creates indexes on columns, one after the other. Those that find rows by equal values are written for all fragments
   * there are; the others are records only. None of them changes an answer.
   */
  createIndices(indices: readonly NewIndex[]): PreparedChange
  /** Removes an index. */
  dropIndex(name: string): CheckedChange
  /** The indexes of a version, by name. */
  indicesOf(snapshot: Snapshot): readonly TableIndex[]
  /** The index of that name. Throws `TableIndexNotFound`. */
  indexOf(snapshot: Snapshot, name: string): TableIndex
  /** How many rows each of these indexes of a version covers. */
  coverageOf(snapshot: Snapshot, indices: readonly TableIndex[]): Promise<readonly IndexCoverage[]>
  /** Adds columns after the others. Expressions see the existing columns. Existing files do not change. */
  addColumns(columns: readonly NewColumn[]): SchemaChange
  /** Renames columns, and changes their types or nullability. All paths are those before the change. */
  alterColumns(alterations: readonly ColumnAlteration[]): SchemaChange
  /** Removes columns, and fields of structs. Their bytes remain until the fragments are optimized. */
  dropColumns(paths: readonly string[]): SchemaChange
  /** Changes the metadata of fields. */
  updateFieldMetadata(updates: readonly FieldMetadataUpdate[]): SchemaChange
  /** Restores the content of `old`, a version of the same table. */
  restoreTo(old: Snapshot): Change
  /** Stands in for a later version that cannot be read, as the base of restoring `old`. */
  unreadableAfter(old: Snapshot): Snapshot
  /** The files of indexes that are missing or damaged, for `broken` of the options to optimize with. Reads all of them. */
  brokenIndexes(snapshot: Snapshot, work?: WorkOptions): Promise<ReadonlySet<string>>
  /** Whether `optimizeRows` has nothing to do. Reads no rows. */
  isOptimized(snapshot: Snapshot, options?: OptimizeOptions): Promise<boolean>
  /**
   * Writes merged fragments for those of `base` that are small or have many deleted rows. Rows keep their order.
   * Applying the change to a newer base keeps later inserts and deletes. It returns the base itself if nothing is left
   * to replace.
   */
  optimizeRows(base: Snapshot, options?: OptimizeOptions, work?: WorkOptions): Promise<Change>
  /** Counts all rows, or those that match a predicate. Reads no rows without a predicate. */
  countRows(snapshot: Snapshot, options?: CountOptions): Promise<number>
  /** Rows as the bytes of an Arrow IPC file, in insertion order. */
  queryRows(snapshot: Snapshot, options?: QueryOptions): Promise<Uint8Array>
  /** As `query`: as a whole if it is short, otherwise in parts that are created on demand. */
  streamRows(snapshot: Snapshot, options?: QueryOptions): Promise<Uint8Array | AsyncIterable<Uint8Array>>
  /**
   * The rows that differ between two versions of a table, as the bytes of an Arrow IPC file: those that only `from` has,
   * and then those that only `to` has. The column `_change_type` says how each changed. Reads no row of fragments that
   * both have. Throws for columns that do not exist, and for keys that are null or not unique.
   */
  queryChanges(from: Snapshot, to: Snapshot, options?: ChangesOptions): Promise<Uint8Array>
  /** As `queryChanges`: as a whole if it is short, otherwise in parts that are created on demand. */
  streamChanges(
    from: Snapshot,
    to: Snapshot,
    options?: ChangesOptions,
  ): Promise<Uint8Array | AsyncIterable<Uint8Array>>
  /**
   * The plan of a query, a line for each step, the last one first. Throws the query's errors that are known in advance.
   */
  explainQuery(snapshot: Snapshot, options?: QueryOptions): Promise<readonly string[]>
  /**
   * Writes a manifest under `prefix` that refers to the files of `source`, a version of another table in the same
   * content. Reads no row. The bases of the snapshot's manifest are the folders of these files.
   */
  shareRows(prefix: string, source: Snapshot, options?: ApplyOptions): Promise<Snapshot>
  /** Copies the files of `source`, a version of a table in the content `from`, and writes a manifest for the copies. */
  copyRows(prefix: string, source: Snapshot, from: Content, options?: ApplyOptions): Promise<Snapshot>
  /** The number of live rows of each fragment, in order. */
  fragmentRows(snapshot: Snapshot): Promise<readonly number[]>
  /** Paths, relative to the root of the content, of all objects of these versions. A path may occur more than once. */
  reachable(prefix: string, refs: Iterable<ManifestRef> | AsyncIterable<ManifestRef>): AsyncIterable<string>
  /**
   * Checks each object of these versions once, and reports the problems of damaged ones. Reads all bytes and compares
   * their checksums, or with `quick` those of manifests only.
   */
  check(
    prefix: string,
    refs: Iterable<ManifestRef>,
    options?: { readonly quick?: boolean | undefined; readonly signal?: AbortSignal | undefined },
  ): AsyncIterable<CheckedObject>
  /** The use of the cache, without those of worker threads. */
  readonly cacheUse: CacheUse
  /** Ends the worker threads. Scans in progress continue without them. */
  close(): Promise<void>
}

/** The use of a cache in memory. */
export interface CacheUse {
  /** Bytes kept at the moment, and at most. */
  readonly bytes: number
  readonly limit: number
  /** How often a requested value was cached, and how often it had to be read. */
  readonly hits: number
  readonly misses: number
}

/** An index on a table. */
export interface TableIndex extends StoredIndex {
  /** The path of its column. */
  readonly column: string
}

/** What the fragments of a version have of an index. */
export interface IndexCoverage {
  /** Live rows of fragments with the index, or so few that they need none. */
  readonly indexedRows: number
  /** Live rows of all other fragments. */
  readonly unindexedRows: number
  /** The bytes of the index, without those of others in its files. */
  readonly bytes: number
  /** How many files it is in. */
  readonly files: number
}

/** An index to be created. */
export interface NewIndex {
  /** The path of the column. */
  readonly column: string
  readonly type: IndexType
  /** Default: the column's path and `_idx`. */
  readonly name?: string | undefined
  /** Whether to replace an index of that name on the same column. Default true. */
  readonly replace?: boolean | undefined
  readonly parameters: IndexParameters
  readonly uuid: string
  readonly createdAt: number
}

/** A change that can check in advance whether it would be refused. */
export interface CheckedChange extends Change {
  check(base: Snapshot): void
}

/** A change whose slow work can be done in advance, so that applying it takes less time. */
export interface PreparedChange extends CheckedChange {
  prepare(base: Snapshot, options?: WorkOptions): Promise<void>
}

/** The changes to the field at a path. Absent members leave it unchanged. */
export interface ColumnAlteration {
  readonly path: string
  readonly rename?: string | undefined
  readonly nullable?: boolean | undefined
  readonly type?: DataType | undefined
}

/** New metadata for the field at a path. */
export interface FieldMetadataUpdate {
  readonly path: string
  /** Null removes a key. */
  readonly metadata: Readonly<Record<string, string | null>>
  /** Whether to remove all other keys. */
  readonly replace?: boolean | undefined
}
