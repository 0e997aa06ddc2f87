import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  PutObjectCommand,
  type S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import { nameOf, statusOf } from './errors.ts'

/** Objects up to this size are one request, larger ones are uploaded in such parts. S3 requires at least 5 MiB. */
export const partBytes = 8 << 20
/** The parallel parts, which bound the memory of an upload. */
const partsAtOnce = 4

/** The metadata with the id of the attempt that made an object. */
export const attemptName = 'tabularium-put'

/** An object to create. */
export interface NewObject {
  readonly Bucket: string
  readonly Key: string
  readonly Metadata: Readonly<Record<string, string>>
}

export type Outcome = 'created' | 'taken' | 'again'

/** Puts an object in one request. */
export async function putWhole(client: S3Client, object: NewObject, body: Uint8Array): Promise<Outcome> {
  try {
    await client.send(new PutObjectCommand({ ...object, Body: body, IfNoneMatch: '*' }))
    return 'created'
  } catch (error) {
    return outcomeOf(error)
  }
}

/** Puts an object in parts. It appears with the last request. */
export async function putInParts(
  client: S3Client,
  object: NewObject,
  parts: readonly Uint8Array[],
): Promise<Outcome> {
  const { Bucket, Key } = object
  const { UploadId } = await client.send(new CreateMultipartUploadCommand(object))
  const upload = { Bucket, Key, UploadId }
  try {
    const pieces = piecesOf(parts)
    const Parts: { PartNumber: number; ETag: string | undefined }[] = []
    const send = async () => {
      for (let next = pieces.next(); !next.done; next = pieces.next()) {
        const PartNumber = Parts.length + 1
        const part: (typeof Parts)[number] = { PartNumber, ETag: undefined }
        Parts.push(part)
        part.ETag = (
          await client.send(new UploadPartCommand({ ...upload, PartNumber, Body: next.value }))
        ).ETag
      }
    }
    await Promise.all(Array.from({ length: partsAtOnce }, send))
    await client.send(
      new CompleteMultipartUploadCommand({ ...upload, MultipartUpload: { Parts }, IfNoneMatch: '*' }),
    )
    return 'created'
  } catch (error) {
    // If this fails, a vacuum aborts the upload later.
    await client.send(new AbortMultipartUploadCommand(upload)).catch(() => {})
    // A missing upload was completed by a request whose response was lost, or was removed.
    if (nameOf(error) === 'NoSuchUpload') return 'again'
    return outcomeOf(error)
  }
}

/** The outcome of a refused write. 409 means that two writers met, and that the request may be repeated. */
function outcomeOf(error: unknown): Outcome {
  const status = statusOf(error)
  if (status === 412 || nameOf(error) === 'PreconditionFailed') return 'taken'
  if (status === 409) return 'again'
  throw error
}

/** The bytes in pieces of {@link partBytes}; the last one is shorter. */
function* piecesOf(parts: readonly Uint8Array[]): Generator<Uint8Array, void, undefined> {
  let gathered: Uint8Array[] = []
  let size = 0
  for (const part of parts) {
    for (let at = 0; at < part.length; ) {
      const taken = part.subarray(at, at + partBytes - size)
      gathered.push(taken)
      size += taken.length
      at += taken.length
      if (size < partBytes) continue
      yield gathered.length === 1 ? gathered[0]! : Buffer.concat(gathered)
      gathered = []
      size = 0
    }
  }
  if (size > 0) yield Buffer.concat(gathered)
}
