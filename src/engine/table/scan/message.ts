import { CatalogError, type ErrorCode } from '../../../base/errors.ts'
import type { Values } from '../../arrow/batch.ts'
import type { Bitmap } from '../../arrow/bitmap.ts'
import type { EncodedFile, FragmentLayout, StoredColumns } from '../format/manifest.ts'
import type { Bound } from '../read/first-key.ts'
import type { SortKey, SortValue } from '../read/sort-keys.ts'
import type { Measure, QueryVector } from '../search/measures.ts'
import type { Candidates, Nearest } from '../search/nearest.ts'
import type { VectorColumn } from '../search/vector-column.ts'

/** The data that a worker thread starts with. */
export interface WorkerSettings {
  /** Bytes of decoded columns that it caches. */
  readonly cacheBytes: number
}

/** The result of a scan, a search or an order of a fragment, or the file of new columns for it. */
export type ScanResult = number | Bitmap | FragmentNearest | FragmentBest | EncodedFile

/** The request to scan one fragment, or to compute new columns for it. */
export interface ScanRequest {
  readonly id: number
  /** The URL by which the worker opens the content. */
  readonly content: string
  readonly prefix: string
  /** The table's schema as in its manifest. */
  readonly schema: string
  readonly columns: StoredColumns | undefined
  /** Absent for all rows. */
  readonly predicate: string | undefined
  /** The time that the predicate is compiled for; undefined if the predicate does not use the time. */
  readonly now: number | undefined
  readonly entry: FragmentLayout
  /** For a search or an order, which find the nearest or the first of the matching rows. */
  readonly wanted: ScanResultKind | SearchTask | OrderTask | ColumnTask
  /** It starts when fewer requests than this are in progress. */
  readonly depth: number
  /** The steps of work that the functions of the predicate, or of each expression, may take. */
  readonly steps: readonly number[]
}

/** Informs a worker that a request was cancelled. */
export interface Cancel {
  readonly cancel: number
}

/** Informs a worker that the shared memory of its answer is free again. */
export interface GivenBack {
  readonly givenBack: ReadonlySet<SharedArrayBuffer>
}

/** The message of a worker: that it has started, or the result of a request and the steps of work it took. */
export type Reply =
  | 'ready'
  | { readonly id: number; readonly result: ScanResult; readonly steps: readonly number[] }
  | { readonly id: number; readonly failure: Failure }

/** An error as one thread sends it to another. Messages lose the classes of their objects. */
export interface Failure {
  readonly code?: ErrorCode
  readonly message: string
  readonly cause?: unknown
}

export function toFailure(error: unknown): Failure {
  if (!(error instanceof Error)) return { message: String(error) }
  const { message, cause } = error
  const failure = { message, ...(cause instanceof Error && { cause: new Error(cause.message) }) }
  return error instanceof CatalogError ? { ...failure, code: error.code } : failure
}

export function fromFailure({ code, message, cause }: Failure): Error {
  const options = cause === undefined ? undefined : { cause }
  return code === undefined ? new Error(message, options) : new CatalogError(code, message, options)
}

/** New columns to compute for a fragment. Sent to worker threads in this form. */
export interface ColumnTask {
  /** The texts of the expressions, and the times that they are compiled for. */
  readonly expressions: readonly { readonly text: string; readonly now: number | undefined }[]
  /** The schema of their file, in the form of manifests. */
  readonly file: string
  /** The number of the fragment's first live row, for errors. */
  readonly firstRow: number
}

/** Whether a scan counts or selects the matching rows of a fragment. */
export type ScanResultKind = 'count' | 'rows'

/** The search in each fragment. Sent to worker threads in this form. */
export interface SearchTask {
  readonly column: VectorColumn
  readonly measure: Measure
  readonly queries: readonly QueryVector[]
  /** Rows at this distance or farther. */
  readonly lower: number | undefined
  /** Rows nearer than this. */
  readonly upper: number | undefined
  /** Rows to find for each search, at most. */
  readonly limit: number
  /** Whether copies of the vectors may be made, as those of all fragments have room. */
  readonly mayCopy: boolean
  /** Whether the vectors of the rows are wanted, too. */
  readonly withVectors: boolean
}

/** The nearest rows of a fragment for each search; positions are rows of the fragment. */
export interface FragmentNearest {
  readonly nearest: readonly Nearest[]
  /** The rows that may be the nearest, for each search, if their distances are not known yet. `nearest` is empty then. */
  readonly candidates?: readonly Candidates[]
  /** The vectors of all these rows, in order, in the layout of the column. */
  readonly vectors?: Values
}

/** An order of each fragment, of which the first rows are wanted. Sent to worker threads in this form. */
export interface OrderTask {
  readonly keys: readonly SortKey[]
  /** Rows to find, at most. */
  readonly most: number
  /** Rows behind it are not wanted. */
  readonly bound: Bound | undefined
}

/** The first rows of a fragment in an order. */
export interface FragmentBest {
  readonly rows: Int32Array
  /** The values of these rows, for each key. */
  readonly values: readonly (readonly SortValue[])[]
  /** How many rows that match were compared. */
  readonly seen: number
}
