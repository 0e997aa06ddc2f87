import { randomUUID } from 'node:crypto'
import type { ByteRange, Content, SharedFiles } from '../../base/content/content.ts'
import { folderSegmentsOf, segmentsOf, takenMessage } from '../../base/content/path.ts'
import type { SignRequest } from '../../base/content/signer.ts'
import { CatalogError, invalid } from '../../base/errors.ts'
import { mergeRanges } from '../../base/scheduling/merge-ranges.ts'
import { sleep } from '../../base/time.ts'
import { type Bucket, Busy, CutOff, forEach, maxRemoved } from './bucket.ts'

/** The location of a content in a bucket. */
export interface BucketRoot {
  /** The begin of all keys: empty, or ending in a slash. */
  readonly prefix: string
  /** The URL by which `openContent` opens the same content, if there is one. */
  readonly url?: string | undefined
}

/** Content as the objects of a bucket whose keys begin with a prefix. */
export function bucketContent(bucket: Bucket, root: BucketRoot): Content {
  if (!/^$|\/$/.test(root.prefix)) throw invalid('The prefix of a content ends in a slash: add one.')
  return new BucketContent(bucket, root)
}

/** How often undecided requests and incomplete responses are tried. */
const maxAttempts = 5
const firstPause = 50

/** The parallel requests for parts of one object. */
const readsAtOnce = 8

class BucketContent implements Content {
  readonly url: string | undefined
  readonly shared: SharedFiles
  readonly sign: SignRequest | undefined
  readonly #bucket: Bucket
  readonly #prefix: string
  /** Whether the bucket existed. If it is missing later, that is not the caller's mistake. */
  #wasThere = false

  constructor(bucket: Bucket, { prefix, url }: BucketRoot) {
    this.#bucket = bucket
    this.#prefix = prefix
    this.url = url
    this.sign = bucket.sign && ((folder, request) => bucket.sign!(prefix + folder, request))
    this.shared = {
      names: (folder) => this.#names(folder),
      sync: (path) => this.#size(path),
      link: (from, to) => this.#link(from, to),
      replace: (path, bytes) => this.#replace(path, bytes),
    }
  }

  async put(path: string, bytes: Uint8Array | readonly Uint8Array[]): Promise<void> {
    segmentsOf(path)
    const isNew = await this.#create(path, bytes instanceof Uint8Array ? [bytes] : bytes)
    if (!isNew) throw new CatalogError('ConcurrentModification', takenMessage(path))
  }

  async get(path: string, range?: ByteRange): Promise<Uint8Array | undefined> {
    segmentsOf(path)
    if (range === undefined) return this.#read(path)
    const start = Math.max(0, range.start)
    if (range.end > start) return this.#read(path, { start, end: range.end })
    // No service supports an empty range.
    return (await this.#size(path)) === undefined ? undefined : new Uint8Array(0)
  }

  async getRanges(path: string, ranges: readonly ByteRange[]): Promise<readonly (Uint8Array | undefined)[]> {
    segmentsOf(path)
    const found: (Uint8Array | undefined)[] = ranges.map(() => undefined)
    await forEach(mergeRanges(ranges), readsAtOnce, async ({ start, end, parts }) => {
      const bytes = await this.get(path, { start, end })
      for (const part of parts) found[part] = bytes && partOf(bytes, start, ranges[part]!)
    })
    return found
  }

  async *list(prefix: string) {
    folderSegmentsOf(prefix)
    try {
      // A cleanup lists whole top-level folders. Other listings save the extra request for uploads.
      const uploads = prefix.indexOf('/') === prefix.length - 1
      for await (const found of this.#bucket.list(this.#prefix + prefix, uploads)) {
        const { key, size, modified, becomes } = found
        // Other programs may have made "folders": empty objects whose key ends in a slash.
        if (key.endsWith('/')) continue
        const path = this.#pathOf(key)
        yield becomes === undefined
          ? { path, size, modified }
          : { path, size, modified, becomes: this.#pathOf(becomes) }
      }
    } catch (error) {
      throw this.#explain('list', this.#prefix + prefix, error)
    }
  }

  #pathOf(key: string): string {
    return key.slice(this.#prefix.length)
  }

  async remove(path: string): Promise<void> {
    const key = this.#prefix + path
    try {
      if (path.endsWith('/')) await this.#removeFolder(path)
      else {
        segmentsOf(path)
        await this.#bucket.remove([key])
      }
    } catch (error) {
      throw this.#explain('remove', key, error)
    }
  }

  async #removeFolder(path: string): Promise<void> {
    segmentsOf(path.slice(0, -1))
    let keys: string[] = []
    for await (const { key } of this.#bucket.list(this.#prefix + path, false)) {
      keys.push(key)
      if (keys.length < maxRemoved) continue
      await this.#bucket.remove(keys)
      keys = []
    }
    if (keys.length > 0) await this.#bucket.remove(keys)
  }

  /**
   * Puts an object, and returns whether its path was free. After a lost response, a client repeats its request, which
   * then finds the object of the first one. So a refusal counts only when another attempt made the object. Without a
   * response, the object's attempt also decides.
   */
  #create(path: string, parts: readonly Uint8Array[]): Promise<boolean> {
    const key = this.#prefix + path
    const attempt = randomUUID()
    return this.#withRetries('write', key, async () => {
      let failure: CatalogError | undefined
      const outcome = await this.#bucket.create(key, parts, attempt).catch((error) => {
        // A service may refuse a large object before reading it, and close the connection: so refusals get lost.
        failure = this.#explain('write', key, error)
        if (failure.code !== 'ServiceUnavailable') throw failure
        return 'lost' as const
      })
      if (outcome === 'created') return true
      const made = await this.#bucket.attemptOf(key).catch((error) => {
        throw failure ?? error
      })
      if (made !== undefined) return made === attempt
      if (failure) throw failure
      // The object was removed since, or the service could not decide between two writers.
      return undefined
    })
  }

  async #read(path: string, range?: ByteRange): Promise<Uint8Array | undefined> {
    const key = this.#prefix + path
    const [bytes] = await this.#withRetries(
      'read',
      key,
      async () => [await this.#bucket.read(key, range)] as const,
    )
    // A slice of a Buffer is a view, while that of any other array is a copy.
    return Buffer.isBuffer(bytes) ? new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length) : bytes
  }

  async #size(path: string): Promise<number | undefined> {
    segmentsOf(path)
    const key = this.#prefix + path
    return this.#bucket.sizeOf(key).catch((error) => {
      throw this.#explain('read', key, error)
    })
  }

  async #names(folder: string): Promise<readonly string[]> {
    folderSegmentsOf(folder)
    const key = this.#prefix + folder
    return this.#bucket.names(key).catch((error) => {
      throw this.#explain('list', key, error)
    })
  }

  async #link(from: string, to: string): Promise<'linked' | 'taken' | 'missing'> {
    segmentsOf(from)
    segmentsOf(to)
    const bytes = await this.#read(from)
    if (bytes === undefined) return 'missing'
    return (await this.#create(to, [bytes])) ? 'linked' : 'taken'
  }

  async #replace(path: string, bytes: Uint8Array): Promise<void> {
    segmentsOf(path)
    const key = this.#prefix + path
    return this.#bucket.replace(key, bytes).catch((error) => {
      throw this.#explain('write', key, error)
    })
  }

  #explain(action: string, key: string, error: unknown): CatalogError {
    if (error instanceof CatalogError) return error
    const [code, sentence, ...facts] = this.#bucket.reasonOf(error)
    return new CatalogError(
      code === 'InvalidInput' && this.#wasThere ? 'ServiceUnavailable' : code,
      `Cannot ${action} ${this.#bucket.root}${key}: ${sentence}`,
      { cause: bareError(error as Error, facts) },
    )
  }

  /** Repeats `work` until it has an answer, up to {@link maxAttempts} times. */
  async #withRetries<T>(action: string, key: string, work: () => Promise<T | undefined>): Promise<T> {
    let cause: unknown
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      // Random, so that writers do not meet again.
      if (attempt > 0) await sleep(firstPause * 2 ** attempt * (0.5 + Math.random()))
      try {
        const answer = await work()
        if (answer === undefined) continue
        this.#wasThere = true
        return answer
      } catch (error) {
        if (!(error instanceof CutOff)) throw this.#explain(action, key, error)
        cause = error
      }
    }
    if (cause instanceof Busy) throw this.#explain(action, key, cause.cause)
    const fact = cause ? 'was cut off or damaged in each of' : 'could not be decided in'
    throw new CatalogError(
      'ServiceUnavailable',
      `The service could not ${action} ${JSON.stringify(key)}: its answer ${fact} ${maxAttempts} attempts. Try again.`,
      { cause },
    )
  }
}

/** A part of bytes that begin at `start`. A small part is a copy, since a view would keep all bytes in memory. */
function partOf(bytes: Uint8Array, start: number, range: ByteRange): Uint8Array {
  const part = bytes.subarray(Math.max(0, range.start - start), Math.max(0, range.end - start))
  return part.length * 2 > bytes.length ? part : new Uint8Array(part)
}

/** Keys of AWS, signatures of Azure, and tokens of OAuth, which messages of services may contain. */
const credential =
  /\b(?:AKIA|ASIA)[A-Z0-9]{8,}|\b(?:sig|Signature|AccountKey)=[^&;\s"]+|\bBearer [\w.~+/-]+|\bya29\.[\w-]+/g

/**
 * A copy of a service's error with its name, its message and some facts. Its requests with their headers, and responses
 * that contain keys and signatures, are left out.
 */
function bareError(
  { name = 'Error', message = '' }: { readonly name?: string; readonly message?: string },
  facts: readonly unknown[],
): Error {
  const known = facts.filter((fact) => fact !== undefined && fact !== '' && fact !== 0)
  const behind = known.length > 0 ? ` (${known.join(', ')})` : ''
  return new Error(`${name}: ${message.replace(credential, '…')}${behind}`)
}
