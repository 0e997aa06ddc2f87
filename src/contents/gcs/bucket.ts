import type { Bucket as GcsClient, GetFilesOptions, GetFilesResponse } from '@google-cloud/storage'
import type { ByteRange } from '../../base/content/content.ts'
import {
  type Bucket,
  type BucketObject,
  Busy,
  CutOff,
  joined,
  latestOf,
  type Reason,
  removeEach,
} from '../bucket/bucket.ts'

/** The metadata with the id of the attempt that made an object. */
const attemptName = 'tabularium-put'

/** The timeout for reading an object. */
const answerMillis = 120_000

/** A bucket of Google Cloud Storage. */
export class GcsBucket implements Bucket {
  readonly root: string
  readonly #bucket: GcsClient

  constructor(bucket: GcsClient) {
    this.root = `gs://${bucket.name}/`
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
  async read(key: string, range?: ByteRange) {
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

  reasonOf(error: unknown): Reason {
    const fact = statusOf(error) ?? systemCode(error as GcsError)
    return [...meaningOf(this.#bucket.name, error as GcsError), fact]
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

interface GcsError {
  readonly name?: string
  readonly message?: string
  /** The status of the response, or the code of the system. */
  readonly code?: number | string
  readonly cause?: { readonly code?: unknown }
}

/** The status of the response that an error represents. */
function statusOf(error: unknown): number | undefined {
  const { code } = (error ?? {}) as GcsError
  const status = Number(code)
  return Number.isInteger(status) && status >= 300 ? status : undefined
}

/** Whether an error means that there is no such object; a missing bucket does not count. */
function isMissing(error: unknown): boolean {
  return statusOf(error) === 404 && !/bucket does not exist/i.test((error as GcsError).message ?? '')
}

/** Whether a status means that the same request may succeed later. */
function isBusy(status: number): boolean {
  return status === 408 || status === 429 || status >= 500
}

/** The code of a system error, or of its cause. */
function systemCode({ code, cause, name }: GcsError): string {
  return [code, cause?.code, name].find((one) => typeof one === 'string') as string
}

/** Whether an error means that the service could not be reached. */
function isUnreachable(error: unknown): boolean {
  return ['ECONNREFUSED', 'ENOTFOUND', 'EHOSTUNREACH'].includes(systemCode(error as GcsError))
}

/** What an error of Google Cloud Storage means. */
function meaningOf(bucket: string, error: GcsError): Reason {
  const status = statusOf(error)
  if (status === 404) {
    return ['InvalidInput', `there is no bucket ${bucket}. Create it, or check its name.`]
  }
  if (/default credentials|invalid_grant|invalid_rapt/i.test(error.message ?? '')) {
    return [
      'PermissionDenied',
      'no credentials that work were found. Set GOOGLE_APPLICATION_CREDENTIALS, or run gcloud auth application-default login; and see that the clock of this machine is right.',
    ]
  }
  if (status === 401 || status === 403) {
    return [
      'PermissionDenied',
      `the service forbids it (${status}). Give the role Storage Object User on the bucket.`,
    ]
  }
  if (status !== undefined && isBusy(status)) {
    return ['ServiceUnavailable', `the service cannot answer now (${status}). Try again later.`]
  }
  if (status === undefined) {
    return [
      'ServiceUnavailable',
      `the service cannot be reached (${systemCode(error)}). Check the network, and try again.`,
    ]
  }
  return ['Internal', `the service answered ${status}. See the cause of this error.`]
}
