import type { CatalogError } from '../../base/errors.ts'
import { wallClock } from '../../base/time.ts'

/**
 * An object storage service; `bucketContent` makes a content of it. Keys begin at the root of the bucket. Errors are
 * those of the service's own client, and `explain` turns them into a `CatalogError`.
 */
export interface Bucket {
  /**
   * Stores an object unless there is one. Stores `attempt` with it, so that a repeated request recognizes its own
   * object. Returns `again` when the service could not decide between two writers.
   */
  create(key: string, parts: readonly Uint8Array[], attempt: string): Promise<'created' | 'taken' | 'again'>
  /** The attempt that made an object: empty when it has none, and undefined without an object. */
  attemptOf(key: string): Promise<string | undefined>
  /** Stores an object, or replaces it. */
  replace(key: string, bytes: Uint8Array): Promise<void>
  /** The object, or its bytes from `start` up to `end`, at least one. Throws `CutOff`. */
  read(key: string, range?: { readonly start: number; readonly end: number }): Promise<Uint8Array | undefined>
  sizeOf(key: string): Promise<number | undefined>
  /** All objects whose key begins with `prefix`. With `uploads`, also its unfinished uploads, under their own keys. */
  list(prefix: string, uploads: boolean): AsyncIterable<BucketObject>
  /** The names of the objects directly below a prefix, which ends in a slash or is empty. */
  names(prefix: string): Promise<readonly string[]>
  /** Removes objects and uploads by the keys from `list`, at most {@link mostRemoved} at once. */
  remove(keys: readonly string[]): Promise<void>
  /** An error of the service as a `CatalogError`. Neither its message nor its cause contains a credential. */
  explain(action: string, key: string, error: unknown): CatalogError
}

export interface BucketObject {
  readonly key: string
  readonly size: number
  /** The latest time at which it may have been written: {@link latestOf} the service's date. */
  readonly modified: number
  /** The key of the object that an unfinished upload is for. */
  readonly becomes?: string
}

/** The latest time that a date may mean: most services truncate to the second. An object without a date is new. */
export function latestOf(date: Date | undefined): number {
  const millis = date?.getTime() ?? Number.NaN
  if (Number.isNaN(millis)) return wallClock()
  return millis % 1_000 === 0 ? millis + 999 : millis
}

/** The most objects that one request removes. */
export const mostRemoved = 1_000

/** A response that ended before all of its bytes. The request may be repeated. */
export class CutOff extends Error {}

/** A response that says to ask again, for services whose client does not do so. Its cause is their error. */
export class Busy extends CutOff {}

/** The joined parts. A single part is not copied. */
export function joined(parts: readonly Uint8Array[]): Uint8Array {
  return parts.length === 1 ? parts[0]! : Buffer.concat(parts)
}

/** The bytes of all parts. */
export function sizeOfAll(parts: readonly Uint8Array[]): number {
  return parts.reduce((size, part) => size + part.length, 0)
}

const removalsAtOnce = 16

/** Removes objects one by one, some in parallel, where a service has no request for many. */
export function removeEach(
  keys: readonly string[],
  remove: (key: string) => Promise<unknown>,
): Promise<void> {
  return forEach(keys, removalsAtOnce, remove)
}

/** Runs `work` on each item, some in parallel. */
export async function forEach<T>(
  items: readonly T[],
  atOnce: number,
  work: (item: T) => Promise<unknown>,
): Promise<void> {
  const left = items.values()
  const worker = async () => {
    for (const item of left) await work(item)
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, worker))
}
