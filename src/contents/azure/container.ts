import { Readable } from 'node:stream'
import type { BlobDownloadResponseParsed, ContainerClient } from '@azure/storage-blob'
import type { ByteRange } from '../../base/content/content.ts'
import {
  type Bucket,
  type BucketObject,
  collect,
  latestOf,
  type Reason,
  received,
  removeEach,
  sizeOfAll,
} from '../bucket/bucket.ts'

/** The metadata with the id of the attempt that made a blob. Azure allows only names of variables. */
const attemptName = 'tabularium_put'

/** A container of Azure Blob Storage. */
export class AzureContainer implements Bucket {
  readonly root: string
  readonly #container: ContainerClient

  constructor(container: ContainerClient) {
    this.root = `az://${container.containerName}/`
    this.#container = container
  }

  async create(key: string, parts: readonly Uint8Array[], attempt: string): Promise<'created' | 'taken'> {
    try {
      await this.#blob(key).upload(() => Readable.from(parts), sizeOfAll(parts), {
        conditions: { ifNoneMatch: '*' },
        metadata: { [attemptName]: attempt },
      })
      return 'created'
    } catch (error) {
      if (statusOf(error) === 412 || codeOf(error) === 'BlobAlreadyExists') return 'taken'
      throw error
    }
  }

  async attemptOf(key: string): Promise<string | undefined> {
    const found = await this.#properties(key)
    return found && (found.metadata?.[attemptName] ?? '')
  }

  async replace(key: string, bytes: Uint8Array): Promise<void> {
    await this.#blob(key).upload(() => Readable.from([bytes]), bytes.length)
  }

  async read(key: string, range?: ByteRange) {
    let answer: BlobDownloadResponseParsed
    try {
      answer = await this.#blob(key).download(range?.start, range && range.end - range.start)
    } catch (error) {
      if (isMissing(error)) return undefined
      // The blob ends before the range begins.
      if (statusOf(error) === 416) return new Uint8Array(0)
      throw error
    }
    const { readableStreamBody, contentLength, contentRange } = answer
    const reading = collect(readableStreamBody as Readable, contentLength)
    // Some servers ignore ranges, and send everything.
    return received(key, reading, contentLength, contentRange === undefined ? range : undefined)
  }

  async sizeOf(key: string): Promise<number | undefined> {
    const found = await this.#properties(key)
    return found && (found.contentLength ?? 0)
  }

  /** Abandoned blocks are not blobs, and Azure removes them after a week. */
  async *list(prefix: string): AsyncGenerator<BucketObject> {
    for await (const { name, properties } of this.#container.listBlobsFlat({ prefix })) {
      yield {
        key: name,
        size: properties.contentLength ?? 0,
        modified: latestOf(properties.lastModified),
      }
    }
  }

  async names(prefix: string): Promise<readonly string[]> {
    const names: string[] = []
    for await (const item of this.#container.listBlobsByHierarchy('/', { prefix })) {
      if (item.kind === 'blob' && item.name !== prefix) names.push(item.name.slice(prefix.length))
    }
    return names
  }

  async remove(keys: readonly string[]): Promise<void> {
    await removeEach(keys, (key) => this.#blob(key).deleteIfExists({ deleteSnapshots: 'include' }))
  }

  reasonOf(error: unknown): Reason {
    return [...meaningOf(error as AzureError), statusOf(error), codeOf(error)]
  }

  #blob(key: string) {
    return this.#container.getBlockBlobClient(key)
  }

  #properties(key: string) {
    return this.#blob(key)
      .getProperties()
      .catch((error) => (isMissing(error) ? undefined : Promise.reject(error)))
  }
}

interface AzureError {
  readonly name?: string
  readonly message?: string
  /** The code of the service, or of the system. */
  readonly code?: string
  readonly statusCode?: number
  readonly details?: { readonly errorCode?: string }
}

/** The code of an error of the service or the system. */
function codeOf(error: unknown): string | undefined {
  const { code, details } = (error ?? {}) as AzureError
  return details?.errorCode ?? code
}

function statusOf(error: unknown): number | undefined {
  return (error as AzureError | undefined)?.statusCode
}

/** Whether an error means that there is no such blob; a missing container does not count. */
function isMissing(error: unknown): boolean {
  return statusOf(error) === 404 && codeOf(error) !== 'ContainerNotFound'
}

/** What an error of Azure means. */
function meaningOf(error: AzureError): Reason {
  const status = statusOf(error) ?? 0
  const code = codeOf(error)
  switch (code) {
    case 'ContainerNotFound':
      return ['InvalidInput', 'there is no such container. Create it, or check its name and the account.']
    case 'InvalidResourceName':
      return [
        'InvalidInput',
        'this is no name for a container. Give 3 to 63 small letters, digits and hyphens, as the container is named.',
      ]
    case 'ContainerBeingDeleted':
      return ['ServiceUnavailable', 'the container is being deleted. Use another one.']
    case 'InvalidAuthenticationInfo':
    case 'AuthenticationFailed':
      return [
        'PermissionDenied',
        `the service refuses the credentials (${code}). Renew them, and set the clock of this machine: it may differ by 15 minutes at most.`,
      ]
    case 'ENOTFOUND':
      return [
        'ServiceUnavailable',
        'the name of the service is not known here. Check the account, the endpoint and the network.',
      ]
  }
  if (/Credential|Authentication/.test(error.name ?? '')) {
    return [
      'PermissionDenied',
      'no credentials were found. Set AZURE_STORAGE_CONNECTION_STRING, or AZURE_STORAGE_KEY, or sign in with az login.',
    ]
  }
  if (status === 401 || status === 403) {
    return [
      'PermissionDenied',
      `the service forbids it (${code}). Give the role Storage Blob Data Contributor on the container.`,
    ]
  }
  if (status === 429 || status >= 500) {
    return ['ServiceUnavailable', `the service cannot answer now (${code}, ${status}). Try again later.`]
  }
  if (status === 0) {
    return [
      'ServiceUnavailable',
      `the service cannot be reached (${code ?? error.name}). Check the endpoint, and try again.`,
    ]
  }
  return ['Internal', `the service answered ${code ?? status}. See the cause of this error.`]
}
