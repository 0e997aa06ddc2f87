import type { Schema } from '@uwdata/flechette'
import type {
  BlobsToRead,
  BlobsWork,
  BlobToRead,
  LanceIndexFound,
  SearchTuning,
  TextSearch,
  WriteSpec,
} from '../../engine/lance/index.ts'
import type { QueryOptions, WorkOptions } from '../../engine/table/index.ts'
import type { BlobOfVersion } from './client-rules.ts'

/*
 * Rows are written by one of two engines: our own, or Lance. What a version is decides which one reads them. Operations
 * ask this interface alone, and do not know the engine.
 */

/** A query of the rows of a version, whoever wrote them. */
export interface RowsQuery extends QueryOptions {
  /** Finds the rows with the words of a text, by an index of them. */
  readonly text?: TextSearch | undefined
  /** How much of an index a search looks at, where an index answers. */
  readonly tuning?: SearchTuning | undefined
}

/** The columns of a version, and what is known of its fragments. */
export interface DescribedRows {
  readonly schema: Schema
  readonly metadata: ReadonlyMap<string, string>
  /** Undefined where the engine does not tell. */
  readonly deletedRows?: number | undefined
  readonly fragments: number
}

/** Sizes of a version. */
export interface RowsStats {
  readonly bytes: number
  readonly rows: number
  readonly indices: number
  readonly fragments: number
  /** Fragments of fewer than 100,000 rows. */
  readonly smallFragments: number
  readonly lengths: Readonly<Record<'min' | 'max' | 'mean' | 'p25' | 'p50' | 'p75' | 'p99', number>>
}

/** An index of a version. */
export type RowsIndex = LanceIndexFound & { readonly createdAt: number }

/** The rows of one version. */
export interface VersionRows {
  count(predicate: string | undefined, work: WorkOptions): Promise<number>
  /** The bytes of an Arrow IPC file. In parts, if `inParts` and there are many. */
  query(asked: RowsQuery, inParts: boolean): Promise<Uint8Array | AsyncIterable<Uint8Array>>
  /** Blobs of rows as an Arrow IPC file. Throws `Unsupported` where rows have none. */
  blobs(wanted: BlobsToRead, work: BlobsWork): Promise<Uint8Array>
  /** One blob, whose parts are read on demand. Throws `Unsupported` where rows have none. */
  blob(wanted: BlobToRead, work: BlobsWork): Promise<BlobOfVersion>
  explain(asked: RowsQuery): Promise<readonly string[]>
  stats(): Promise<RowsStats>
  describe(): Promise<DescribedRows>
  /** The names of all indexes, sorted. */
  indexNames(): Promise<readonly string[]>
  /** The indexes of these names, in their order. Throws `TableIndexNotFound`. */
  indexes(names: readonly string[]): Promise<readonly RowsIndex[]>
  /** Reads an index into memory. Throws `TableIndexNotFound`, and `Unsupported` where none is kept there. */
  prewarm(name: string): Promise<void>
  /** How writers that gather rows in memory share them out. Undefined where none do. */
  writeSpec(): Promise<WriteSpec | undefined>
}
