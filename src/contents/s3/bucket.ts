import { createHash, randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import {
  AbortMultipartUploadCommand,
  DeleteObjectCommand,
  DeleteObjectsCommand,
  GetObjectCommand,
  type GetObjectCommandOutput,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  type ListMultipartUploadsCommandOutput,
  ListObjectsV2Command,
  type ListObjectsV2CommandOutput,
  PutObjectCommand,
  type S3Client,
} from '@aws-sdk/client-s3'
import type { ByteRange } from '../../base/content/content.ts'
import type { RequestToSign, SignedRequest } from '../../base/content/signer.ts'
import {
  type Bucket,
  type BucketObject,
  collect,
  joined,
  latestOf,
  type Reason,
  received,
  sizeOfAll,
} from '../bucket/bucket.ts'
import type { DirectAnswer, DirectReads } from './direct-reads.ts'
import { isMissing, reasonOf, statusOf, unlessMissing } from './errors.ts'
import { RequestSigner } from './sign.ts'
import { attemptName, type Outcome, partBytes, putInParts, putWhole } from './upload.ts'

interface Upload {
  readonly Key: string
  readonly UploadId: string
}

/** A bucket of S3, or of a service with its protocol. */
export class S3Bucket implements Bucket {
  readonly root: string
  readonly #client: S3Client
  readonly #bucket: string
  readonly #direct: DirectReads | undefined
  readonly #signer: RequestSigner
  /** Unfinished uploads, by the keys that `list` gave them. */
  readonly #uploads = new Map<string, Upload>()
  #conditionsKept: Promise<boolean> | undefined

  /** With `direct`, parts of objects are read without most of the client. */
  constructor(client: S3Client, bucket: string, direct?: DirectReads) {
    this.root = `s3://${bucket}/`
    this.#client = client
    this.#bucket = bucket
    this.#direct = direct
    this.#signer = new RequestSigner(client, bucket)
  }

  async create(Key: string, parts: readonly Uint8Array[], attempt: string): Promise<Outcome> {
    const object = { Bucket: this.#bucket, Key, Metadata: { [attemptName]: attempt } }
    if (sizeOfAll(parts) > partBytes && (await this.#keepsConditions(Key))) {
      return putInParts(this.#client, object, parts)
    }
    return putWhole(this.#client, object, joined(parts))
  }

  async attemptOf(Key: string): Promise<string | undefined> {
    const head = await this.#head(Key)
    return head && (head.Metadata?.[attemptName] ?? '')
  }

  async replace(Key: string, Body: Uint8Array): Promise<void> {
    await this.#client.send(new PutObjectCommand({ Bucket: this.#bucket, Key, Body }))
  }

  async read(Key: string, range?: ByteRange) {
    let answer: Pick<GetObjectCommandOutput, 'Body' | 'ContentLength' | 'ContentRange'> | DirectAnswer
    try {
      const Range = range && `bytes=${range.start}-${range.end - 1}`
      answer =
        (Range && (await this.#direct?.get(Key, Range))) ||
        (await this.#client.send(new GetObjectCommand({ Bucket: this.#bucket, Key, Range })))
    } catch (error) {
      if (isMissing(error)) return undefined
      // The object ends before the range begins.
      if (statusOf(error) === 416) return new Uint8Array(0)
      throw error
    }
    const { Body, ContentLength } = answer
    const reading = Body instanceof Readable ? collect(Body, ContentLength) : Body!.transformToByteArray()
    // Some servers ignore ranges, and send everything.
    return received(Key, reading, ContentLength, answer.ContentRange === undefined ? range : undefined)
  }

  async sizeOf(Key: string): Promise<number | undefined> {
    const head = await this.#head(Key)
    return head && (head.ContentLength ?? 0)
  }

  async *list(prefix: string, uploads: boolean): AsyncGenerator<BucketObject> {
    for await (const { Contents = [] } of this.#pages(prefix)) {
      for (const { Key, Size, LastModified } of Contents) {
        yield { key: Key!, size: Size ?? 0, modified: latestOf(LastModified) }
      }
    }
    if (uploads) yield* this.#listUploads(prefix)
  }

  async names(prefix: string): Promise<readonly string[]> {
    const names: string[] = []
    for await (const { Contents = [] } of this.#pages(prefix, '/')) {
      for (const { Key } of Contents) if (Key !== prefix) names.push(Key!.slice(prefix.length))
    }
    return names
  }

  async remove(keys: readonly string[]): Promise<void> {
    const uploads = keys.filter((key) => this.#uploads.has(key))
    for (const key of uploads) await this.#abort(key)
    const objects = uploads.length === 0 ? keys : keys.filter((key) => !uploads.includes(key))
    if (objects.length === 1) await this.#removeOne(objects[0]!)
    else if (objects.length > 1) await this.#removeMany(objects)
  }

  sign(prefix: string, request: RequestToSign): Promise<SignedRequest> {
    return this.#signer.sign(prefix, request)
  }

  reasonOf(error: unknown): Reason {
    return reasonOf(this.#bucket, error)
  }

  #head(Key: string) {
    return unlessMissing(this.#client.send(new HeadObjectCommand({ Bucket: this.#bucket, Key })))
  }

  async *#pages(Prefix: string, Delimiter?: string): AsyncGenerator<ListObjectsV2CommandOutput> {
    let ContinuationToken: string | undefined
    do {
      const page: ListObjectsV2CommandOutput = await this.#client.send(
        new ListObjectsV2Command({ Bucket: this.#bucket, Prefix, Delimiter, ContinuationToken }),
      )
      yield page
      ContinuationToken = page.IsTruncated ? page.NextContinuationToken : undefined
    } while (ContinuationToken !== undefined)
  }

  /** Uploads of running or killed writers. Their keys look like unfinished files beside their objects. */
  async *#listUploads(Prefix: string): AsyncGenerator<BucketObject> {
    let page: ListMultipartUploadsCommandOutput | undefined
    do {
      page = await this.#client
        .send(
          new ListMultipartUploadsCommand({
            Bucket: this.#bucket,
            Prefix,
            KeyMarker: page?.NextKeyMarker,
            UploadIdMarker: page?.NextUploadIdMarker,
          }),
        )
        // Some services list no uploads, or not for every user. Nothing depends on them: uploads are not objects.
        .catch((error) =>
          [400, 403, 404, 405, 501].includes(statusOf(error)!) ? undefined : Promise.reject(error),
        )
      for (const { Key, UploadId, Initiated } of page?.Uploads ?? []) {
        const key = keyOfUpload(Key!, UploadId!)
        this.#uploads.set(key, { Key: Key!, UploadId: UploadId! })
        yield { key, size: 0, modified: latestOf(Initiated), becomes: Key! }
      }
    } while (page?.IsTruncated)
  }

  async #abort(key: string): Promise<void> {
    const upload = this.#uploads.get(key)!
    await unlessMissing(
      this.#client.send(new AbortMultipartUploadCommand({ Bucket: this.#bucket, ...upload })),
    )
    this.#uploads.delete(key)
  }

  async #removeOne(Key: string): Promise<void> {
    await unlessMissing(this.#client.send(new DeleteObjectCommand({ Bucket: this.#bucket, Key })))
  }

  async #removeMany(keys: readonly string[]): Promise<void> {
    const Objects = keys.map((Key) => ({ Key }))
    let left: readonly string[] = []
    try {
      const { Errors = [] } = await this.#client.send(
        new DeleteObjectsCommand({ Bucket: this.#bucket, Delete: { Objects, Quiet: true } }),
      )
      left = Errors.map(({ Key }) => Key!)
    } catch (error) {
      // Some services do not support the request, or its checksum.
      if (![400, 405, 501].includes(statusOf(error)!)) throw error
      left = keys
    }
    // The request for one object reports why it could not be removed.
    for (const key of left) await this.#removeOne(key)
  }

  /**
   * Whether the service refuses to complete an upload where an object exists. Some services check that condition only
   * for a put in one request. Then all objects are put that way.
   */
  #keepsConditions(key: string): Promise<boolean> {
    if (this.#conditionsKept === undefined) {
      this.#conditionsKept = this.#tryConditions(key)
      this.#conditionsKept.catch(() => {
        this.#conditionsKept = undefined
      })
    }
    return this.#conditionsKept
  }

  async #tryConditions(key: string): Promise<boolean> {
    // A vacuum removes it if this process is killed meanwhile.
    const object = { Bucket: this.#bucket, Key: unfinishedKey(key, randomUUID()), Metadata: {} }
    await putWhole(this.#client, object, new Uint8Array(1))
    try {
      return (await putInParts(this.#client, object, [new Uint8Array(1)])) === 'taken'
    } finally {
      await this.#removeOne(object.Key)
    }
  }
}

function keyOfUpload(key: string, uploadId: string): string {
  const hash = createHash('sha256').update(`${key} ${uploadId}`).digest('hex')
  return unfinishedKey(
    key,
    [hash.slice(0, 8), hash.slice(8, 12), hash.slice(12, 16), hash.slice(16, 20), hash.slice(20, 32)].join(
      '-',
    ),
  )
}

/** The key of an unfinished object beside another one. */
function unfinishedKey(key: string, uuid: string): string {
  return `${key.slice(0, key.lastIndexOf('/') + 1)}.${uuid}.partial`
}
