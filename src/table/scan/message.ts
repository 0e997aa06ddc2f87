import type { Bitmap } from '../../arrow/bitmap.ts'
import { CatalogError, type ErrorCode } from '../../errors.ts'
import type { FragmentPlace } from '../format/manifest.ts'

/** What a worker thread is started with. */
export interface WorkerSettings {
  /** Bytes of decoded columns it keeps. */
  readonly cacheBytes: number
}

/** What is wanted of a fragment: how many rows a predicate holds for, or which. */
export type Wanted = 'count' | 'rows'

/** One fragment to be asked. */
export interface ScanRequest {
  readonly id: number
  /** The folder whose files the content's objects are. */
  readonly directory: string
  readonly prefix: string
  /** The table's schema as its manifest has it. */
  readonly schema: string
  readonly predicate: string
  /** The time that the predicate is compiled for; undefined when it does not ask for it. */
  readonly now: number | undefined
  readonly entry: FragmentPlace
  readonly wanted: Wanted
}

/** Nobody waits for a request any more. */
export interface Cancel {
  readonly cancel: number
}

/** What a worker says: that it is there, or what came of a request. */
export type Reply =
  | 'ready'
  | { readonly id: number; readonly result: number | Bitmap }
  | { readonly id: number; readonly failure: Failure }

/** An error on its way from one thread to another, which classes do not survive. */
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
