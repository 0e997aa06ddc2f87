import { unsupported } from '../../base/errors.ts'
import { once } from '../../base/once.ts'
import { optionalPackage } from '../../base/optional-package.ts'

/*
 * The part of `@lancedb/lancedb` that is used. Its own handles wrap native ones, which take and answer Arrow as bytes:
 * its wrappers would decode every batch, by another library of Arrow.
 */

/** A native handle of a table, at one version or at the latest. */
export interface NativeTable {
  close(): void
  version(): Promise<number>
  schema(): Promise<Uint8Array>
  countRows(filter?: string): Promise<number>
  stats(): Promise<NativeStats>
  query(): NativeQuery
  /** A query for the rows with these ids. Those that are not there are left out. */
  takeRowIds(ids: readonly bigint[]): NativeRows
  /** The columns of blobs, and fields of structs that are, by their paths. */
  blobColumns(): Promise<readonly string[]>
  /** The blobs of rows, in the order of their ids. Fails where a row is not there. */
  fetchBlobs(column: string, ids: readonly bigint[]): Promise<readonly (Uint8Array | null | undefined)[]>
  /** A handle of the blob of one row, which is not null. */
  fetchBlobFiles(column: string, ids: readonly [bigint]): Promise<readonly NativeBlobFile[]>
  add(rows: Uint8Array, mode: 'append' | 'overwrite'): Promise<unknown>
  delete(predicate: string): Promise<{ readonly numDeletedRows: number }>
  update(
    predicate: string | undefined,
    columns: readonly (readonly [column: string, expression: string])[],
  ): Promise<{ readonly rowsUpdated: number }>
  mergeInsert(on: readonly string[]): NativeMerge
  addColumns(columns: readonly { readonly name: string; readonly valueSql: string }[]): Promise<unknown>
  addColumnsWithSchema(schema: Uint8Array): Promise<unknown>
  dropColumns(paths: readonly string[]): Promise<unknown>
  alterColumns(
    alterations: readonly {
      readonly path: string
      readonly rename?: string
      /** A type as JSON has it in descriptions. */
      readonly dataType?: string
      readonly nullable?: boolean
    }[],
  ): Promise<unknown>
  updateFieldMetadata(
    updates: readonly {
      readonly path: string
      readonly metadata: Readonly<Record<string, string | null>>
      readonly replace: boolean
    }[],
  ): Promise<unknown>
  createIndex(
    index: unknown,
    column: string,
    replace: boolean,
    waitSeconds: undefined,
    name: string | undefined,
    train: true,
  ): Promise<void>
  dropIndex(name: string): Promise<void>
  prewarmIndex(name: string): Promise<void>
  listIndices(): Promise<readonly NativeIndexConfig[]>
  indexStats(name: string): Promise<{ readonly distanceType?: string; readonly numIndices?: number } | null>
  getLsmWriteSpec(): Promise<NativeWriteSpec | null>
  checkout(version: number): Promise<void>
  /** Makes the version that is checked out the latest one. */
  restore(): Promise<void>
  /** Merges small fragments, and brings indexes up to date, in versions of their own. Removes versions before a time. */
  optimize(beforeMillis: number, deleteUnverified: false): Promise<unknown>
}

/** An index, as the package lists it. */
export interface NativeIndexConfig {
  readonly name: string
  readonly indexType: string
  readonly columns: readonly string[]
  readonly indexUuid?: string
  readonly createdAt?: Date
  readonly numIndexedRows?: number
  readonly numUnindexedRows?: number
  readonly sizeBytes?: number
  readonly numSegments?: number
  readonly indexDetails?: unknown
  readonly indexVersion?: number
  readonly typeUrl?: string
}

/** How writers that gather rows in memory share them out. */
export interface NativeWriteSpec {
  readonly specType: string
  readonly column?: string
  readonly numBuckets?: number
  readonly maintainedIndexes?: readonly string[]
  readonly writerConfigDefaults?: Readonly<Record<string, string>>
}

/** A merge that is built by its setters, and then run. Each setter answers with the next builder. */
export interface NativeMerge {
  whenMatchedUpdateAll(condition?: string): NativeMerge
  whenNotMatchedInsertAll(): NativeMerge
  whenNotMatchedBySourceDelete(condition?: string): NativeMerge
  execute(rows: Uint8Array): Promise<{
    readonly numInsertedRows: number
    readonly numUpdatedRows: number
    readonly numDeletedRows: number
  }>
}

/** Sizes of a table. */
export interface NativeStats {
  readonly totalBytes: number
  readonly numRows: number
  readonly numIndices: number
  readonly fragmentStats: {
    readonly numFragments: number
    readonly numSmallFragments: number
    readonly lengths: Readonly<Record<'min' | 'max' | 'mean' | 'p25' | 'p50' | 'p75' | 'p99', number>>
  }
}

/** A query that is built by its setters, and then run. */
/** A query for rows by their ids. */
export interface NativeRows extends Pick<NativeQuery, 'withRowId' | 'execute'> {
  selectColumns(names: readonly string[]): void
}

export interface NativeQuery {
  onlyIf(predicate: string): void
  select(columns: readonly (readonly [name: string, expression: string])[]): void
  limit(rows: number): void
  offset(rows: number): void
  withRowId(): void
  orderBy(keys: readonly NativeOrdering[]): void
  fullTextSearch(query: { readonly query: unknown; readonly columns?: readonly string[] | null }): void
  fastSearch(): void
  nearestTo(vector: Float32Array): NativeVectorQuery
  outputSchema(): Promise<Uint8Array>
  execute(maxBatchLength?: number): Promise<NativeBatches>
  explainPlan(verbose: boolean): Promise<string>
}

/** The answer of a query, as Arrow files, one after the other. */
export interface NativeBatches {
  next(): Promise<Uint8Array | null>
  /** Leaves the rest, where Lance runs in another process. */
  close?(): void
}

/** A handle of a blob. */
export interface NativeBlobFile {
  readRange(start: bigint, end: bigint): Promise<Uint8Array>
  /** Leaves the handle, where Lance runs in another process. */
  close?(): void
}

/** A query for the nearest vectors. */
export interface NativeVectorQuery extends Omit<NativeQuery, 'nearestTo'> {
  column(name: string): void
  addQueryVector(vector: Float32Array): void
  distanceType(name: string): void
  distanceRange(lower: number | undefined, upper: number | undefined): void
  postfilter(): void
  minimumNprobes(partitions: number): void
  maximumNprobes(partitions: number): void
  refineFactor(factor: number): void
  ef(candidates: number): void
  bypassVectorIndex(): void
}

/** A key of an order. */
export interface NativeOrdering {
  readonly columnName: string
  readonly ascending: boolean
  readonly nullsFirst: boolean
}

/** A connection to the catalog's own listener. */
export interface Connection {
  /** The native connection: its methods take rows as bytes of Arrow. */
  readonly inner?: {
    createTable(
      name: string,
      rows: Uint8Array,
      mode: 'create',
      namespace: readonly string[],
    ): Promise<NativeTable>
  }
  openTable(
    name: string,
    namespace: readonly string[],
    options: {
      readonly branch?: string
      readonly version?: number
      readonly storageOptions?: Readonly<Record<string, string>>
    },
  ): Promise<{ readonly inner?: NativeTable }>
  close(): void
}

/** A query for words that the package made, around a native one. */
export interface TextQueryMade {
  readonly inner: unknown
}

type MakeIndex = (options: Readonly<Record<string, unknown>>) => { readonly inner: unknown }

export interface LancePackage {
  connectNamespace(
    implementation: 'rest',
    properties: { readonly uri: string; readonly headers: Readonly<Record<string, string>> },
    options: { readonly session: unknown },
  ): Promise<Connection>
  readonly Session: new (indexBytes: bigint, metadataBytes: bigint) => unknown
  readonly Index: Readonly<
    Record<
      'btree' | 'bitmap' | 'labelList' | 'fm' | 'fts' | 'ivfFlat' | 'ivfPq' | 'ivfRq' | 'hnswPq' | 'hnswSq',
      MakeIndex
    >
  >
  readonly MatchQuery: new (words: string, column: string, options: object) => TextQueryMade
  readonly PhraseQuery: new (words: string, column: string, options: object) => TextQueryMade
  readonly BoostQuery: new (
    positive: TextQueryMade,
    negative: TextQueryMade,
    options: object,
  ) => TextQueryMade
  readonly MultiMatchQuery: new (words: string, columns: readonly string[], options: object) => TextQueryMade
  readonly BooleanQuery: new (
    queries: readonly (readonly [occur: string, query: TextQueryMade])[],
  ) => TextQueryMade
}

const name = '@lancedb/lancedb'

/**
 * Loads Lance's package, once. Fails with `Unsupported`, and what it weighs, when it is not installed: it may be, while the
 * process runs.
 */
export const loadLance: () => Promise<LancePackage> = /* @__PURE__ */ once(load)

async function load(): Promise<LancePackage> {
  const loaded = (await optionalPackage(
    'Reading or changing rows of Lance',
    name,
    () => import('@lancedb/lancedb'),
    ' (its binary takes 195 MB; docs/lance.md says how to leave out what else it brings).',
  )) as unknown as Partial<LancePackage> & { readonly default?: Partial<LancePackage> }
  const found = loaded.connectNamespace ? loaded : (loaded.default ?? {})
  const isKnown = found.connectNamespace && found.Session && found.Index && found.BooleanQuery
  if (isKnown) return found as LancePackage
  throw tooOld()
}

/** The native handle of a table that was opened. */
export function nativeTable({ inner }: { readonly inner?: NativeTable }): NativeTable {
  if (typeof inner?.countRows !== 'function') throw tooOld()
  return inner
}

/** Makes a table with rows. */
export async function createNative(
  { inner }: Connection,
  name: string,
  rows: Uint8Array,
): Promise<NativeTable> {
  if (typeof inner?.createTable !== 'function') throw tooOld()
  return inner.createTable(name, rows, 'create', [])
}

/** The error for a package that lacks what is used here. */
function tooOld(): Error {
  return unsupported(
    `The installed package ${name} is of a version that this release does not know.`,
    `Install one that fits: npm install ${name}@0.39`,
  )
}
