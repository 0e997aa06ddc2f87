import type { Bucket as GcsClient, GetFilesOptions, GetFilesResponse } from '@google-cloud/storage'
import type { CatalogError } from '../../base/errors.ts'
import {
  type Bucket,
  type BucketObject,
  Busy,
  CutOff,
  joined,
  latestOf,
  removeEach,
} from '../bucket/bucket.ts'
import { gcsError, isBusy, isMissing, isUnreachable, statusOf } from './errors.ts'

/** The metadata with the id of the attempt that made an object. */
const attemptName = 'tabularium-put'

/** The timeout for reading an object. */
const answerMillis = 120_000

/** A bucket of Google Cloud Storage. */
export class GcsBucket implements Bucket {
  readonly #bucket: GcsClient

  constructor(bucket: GcsClient) {
    this.#bucket = bucket
  }

  async create(key: string, parts: readonly Uint8Array[], attempt: string): ReturnType<Bucket['create']> {
    try {
      await this.#bucket.file(key).save(Buffer.from(joined(parts)), {
        resumable: false,
        // Generation 0 matches only a missing object.
        preconditionOpts: { ifGenerationMatch: 0 },
        metadata: { metadata: { [attemptName]: attempt } },
      })
      return 'created'
    } catch (error) {
      if (statusOf(error) === 412) return 'taken'
      // Another request changed the object meanwhile.
      if (statusOf(error) === 409) return 'again'
      throw error
    }
  }

  async attemptOf(key: string): Promise<string | undefined> {
    const found = await this.#metadata(key)
    return found && String(found.metadata?.[attemptName] ?? '')
  }

  async replace(key: string, bytes: Uint8Array): Promise<void> {
    await this.#bucket.file(key).save(Buffer.from(bytes), { resumable: false })
  }

  /** Uses fetch, since a stream of the SDK neither ends nor fails when a response breaks off. */
  async read(key: string, range?: { readonly start: number; readonly end: number }) {
    const { storage, name } = this.#bucket
    const headers = new Headers(storage.customEndpoint ? {} : await storage.authClient.getRequestHeaders())
    if (range) headers.set('range', `bytes=${range.start}-${range.end - 1}`)
    const url = `${storage.apiEndpoint}/storage/v1/b/${name}/o/${encodeURIComponent(key)}?alt=media`
    try {
      const answer = await fetch(url, { headers, signal: AbortSignal.timeout(answerMillis) })
      if (answer.ok) {
        const bytes = new Uint8Array(await answer.arrayBuffer())
        // Some servers ignore ranges, and send everything.
        return range && answer.status !== 206 ? bytes.subarray(range.start, range.end) : bytes
      }
      const error = Object.assign(new Error(await answer.text()), { code: answer.status })
      if (isMissing(error)) return undefined
      // The object ends before the range begins.
      if (answer.status === 416) return new Uint8Array(0)
      if (!isBusy(answer.status)) throw error
      throw new Busy(`the service answered ${answer.status}`, { cause: error })
    } catch (cause) {
      // Fetch has one kind of error for every broken connection.
      if (!(cause instanceof TypeError) || isUnreachable(cause)) throw cause
      throw new CutOff(`the answer for ${key} broke off`, { cause })
    }
  }

  async sizeOf(key: string): Promise<number | undefined> {
    const found = await this.#metadata(key)
    return found && Number(found.size ?? 0)
  }

  /** Abandoned uploads are not objects, and the service removes them after a week. */
  async *list(prefix: string): AsyncGenerator<BucketObject> {
    for await (const { name, metadata } of this.#files({ prefix })) {
      yield {
        key: name,
        size: Number(metadata.size ?? 0),
        modified: latestOf(new Date(metadata.updated ?? '')),
      }
    }
  }

  async names(prefix: string): Promise<readonly string[]> {
    const names: string[] = []
    for await (const { name } of this.#files({ prefix, delimiter: '/' })) {
      if (name !== prefix) names.push(name.slice(prefix.length))
    }
    return names
  }

  async remove(keys: readonly string[]): Promise<void> {
    await removeEach(keys, (key) => this.#bucket.file(key).delete({ ignoreNotFound: true }))
  }

  explain(action: string, key: string, error: unknown): CatalogError {
    return gcsError(action, this.#bucket.name, key, error)
  }

  async *#files(query: GetFilesOptions) {
    for (let next: GetFilesOptions | null = { ...query, autoPaginate: false }; next !== null; ) {
      const answer: GetFilesResponse = await this.#bucket.getFiles(next)
      yield* answer[0]
      next = answer[1] ? { ...query, ...answer[1], autoPaginate: false } : null
    }
  }

  async #metadata(key: string) {
    try {
      const [found] = await this.#bucket.file(key).getMetadata()
      return found
    } catch (error) {
      if (isMissing(error)) return undefined
      throw error
    }
  }
}
