import type { CatalogError } from '../../base/errors.ts'
import { wallClock } from '../../base/time.ts'

/**
 * What a service of object storage does; `bucketContent` makes a content of it. Keys begin at the root of the bucket.
 * Errors are those of the service's own client. `explain` turns them into words.
 */
export interface Bucket {
  /**
   * Stores an object unless there is one. It notes `attempt` with the object, so that a request which was sent twice
   * recognizes its own work. Answers `again` when the service could not decide between two writers.
   */
  create(key: string, parts: readonly Uint8Array[], attempt: string): Promise<'created' | 'taken' | 'again'>
  /** The attempt that made an object: empty when nobody noted one, and undefined when there is no object. */
  attemptOf(key: string): Promise<string | undefined>
  /** Stores an object in the place of the one that is there, if any. */
  replace(key: string, bytes: Uint8Array): Promise<void>
  /** The object, or its bytes from `start` up to `end`, of which there is at least one. Throws `CutOff`. */
  read(key: string, range?: { readonly start: number; readonly end: number }): Promise<Uint8Array | undefined>
  sizeOf(key: string): Promise<number | undefined>
  /** All objects whose key begins with `prefix`. With `uploads`, those that were begun there, under keys of their own. */
  list(prefix: string, uploads: boolean): AsyncIterable<BucketObject>
  /** The names of objects directly below a prefix, which ends in a slash or is empty. */
  names(prefix: string): Promise<readonly string[]>
  /** Removes objects and uploads that `list` has named, at most {@link mostRemoved} at once. */
  remove(keys: readonly string[]): Promise<void>
  /** An error of the service in words for the caller. Neither the words nor the cause hold a credential. */
  explain(action: string, key: string, error: unknown): CatalogError
}

export interface BucketObject {
  readonly key: string
  readonly size: number
  /** The latest moment at which it may have been written: {@link latestOf} what the service says. */
  readonly modified: number
  /** The key that an upload which is not complete was begun for. */
  readonly becomes?: string
}

/** The latest moment that a date may mean: most services cut off the second. An object without a date is a new one. */
export function latestOf(date: Date | undefined): number {
  const millis = date?.getTime() ?? Number.NaN
  if (Number.isNaN(millis)) return wallClock()
  return millis % 1_000 === 0 ? millis + 999 : millis
}

/** As many objects are removed by one request at most. */
export const mostRemoved = 1_000

/** An answer whose bytes ended before all of them had come. It may be asked for again. */
export class CutOff extends Error {}

/** The parts as one. A single part is not copied. */
export function joined(parts: readonly Uint8Array[]): Uint8Array {
  return parts.length === 1 ? parts[0]! : Buffer.concat(parts)
}

/** The bytes of all parts. */
export function sizeOfAll(parts: readonly Uint8Array[]): number {
  return parts.reduce((size, part) => size + part.length, 0)
}

const removalsAtOnce = 16

/** Removes objects one by one, some at once, where a service has no request for many. */
export function removeEach(
  keys: readonly string[],
  remove: (key: string) => Promise<unknown>,
): Promise<void> {
  return forEach(keys, removalsAtOnce, remove)
}

/** Does something with each item, some at once. */
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
