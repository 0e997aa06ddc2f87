import type { Readable } from 'node:stream'
import type { ByteRange } from '../../base/content/content.ts'
import type { SignRequest } from '../../base/content/signer.ts'
import type { ErrorCode } from '../../base/errors.ts'
import { wallClock } from '../../base/time.ts'

/**
 * An object storage service; `bucketContent` makes a content of it. Keys begin at the root of the bucket. Errors are
 * those of the service's own client, and `reasonOf` says what they mean.
 */
export interface Bucket {
  /** What messages write before a key, such as `s3://bucket/`. */
  readonly root: string
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
  read(key: string, range?: ByteRange): Promise<Uint8Array | undefined>
  sizeOf(key: string): Promise<number | undefined>
  /** All objects whose key begins with `prefix`. With `uploads`, also its unfinished uploads, under their own keys. */
  list(prefix: string, uploads: boolean): AsyncIterable<BucketObject>
  /** The names of the objects directly below a prefix, which ends in a slash or is empty. */
  names(prefix: string): Promise<readonly string[]>
  /** Removes objects and uploads by the keys from `list`, at most {@link maxRemoved} at once. */
  remove(keys: readonly string[]): Promise<void>
  /** As that of a content, with the whole key. Optional. */
  sign?: SignRequest
  /** The meaning of an error of the service, as a sentence without credentials, and facts for its cause. */
  reasonOf(error: unknown): Reason
}

export type Reason = readonly [code: ErrorCode, sentence: string, ...facts: readonly unknown[]]

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
export const maxRemoved = 1_000

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

/**
 * The bytes of a response with the announced length of `expected`. `ignored` is the wanted part of an object that the
 * service sent whole. Throws `CutOff`.
 */
export async function received(
  key: string,
  reading: Promise<Uint8Array>,
  expected: number | undefined,
  ignored: ByteRange | undefined,
): Promise<Uint8Array> {
  const bytes = await reading.catch((cause) => {
    throw new CutOff(`the answer for ${key} broke off`, { cause })
  })
  if (expected !== undefined && expected !== bytes.length) {
    throw new CutOff(`the answer for ${key} has ${bytes.length} of ${expected} bytes`)
  }
  return ignored === undefined ? bytes : bytes.subarray(ignored.start, ignored.end)
}

/**
 * The bytes of a stream with an announced length of `expected`. Each byte is then copied once: the clients' own
 * collectors copy all of them twice. Rejects when the stream breaks off.
 */
export function collect(stream: Readable, expected: number | undefined): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    let bytes = ownBytes(expected ?? 0)
    let size = 0
    stream.on('data', (part: Uint8Array) => {
      if (size + part.length > bytes.length) {
        const grown = ownBytes(Math.max(size + part.length, bytes.length * 2))
        grown.set(bytes.subarray(0, size))
        bytes = grown
      }
      bytes.set(part, size)
      size += part.length
    })
    stream.on('end', () => resolve(bytes.subarray(0, size)))
    stream.on('error', reject)
    stream.on('close', () => reject(new Error('the stream was closed before its end')))
  })
}

/** Bytes with their own buffer, which begins at an aligned address. Uninitialized: all of them are written. */
function ownBytes(length: number): Uint8Array {
  return new Uint8Array(Buffer.allocUnsafeSlow(length).buffer)
}
