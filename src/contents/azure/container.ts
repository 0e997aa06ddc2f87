import { Readable } from 'node:stream'
import type { BlobDownloadResponseParsed, ContainerClient } from '@azure/storage-blob'
import type { CatalogError } from '../../base/errors.ts'
import { type Bucket, type BucketObject, CutOff, latestOf, removeEach, sizeOfAll } from '../bucket/bucket.ts'
import { collect } from '../bucket/collect.ts'
import { azureError, codeOf, isMissing, statusOf } from './errors.ts'

/** The metadata with the id of the attempt that made a blob. Azure allows only names of variables. */
const attemptName = 'tabularium_put'

/** A container of Azure Blob Storage. */
export class AzureContainer implements Bucket {
  readonly #container: ContainerClient

  constructor(container: ContainerClient) {
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

  async read(key: string, range?: { readonly start: number; readonly end: number }) {
    let answer: BlobDownloadResponseParsed
    try {
      answer = await this.#blob(key).download(range?.start, range && range.end - range.start)
    } catch (error) {
      if (isMissing(error)) return undefined
      // The blob ends before the range begins.
      if (statusOf(error) === 416) return new Uint8Array(0)
      throw error
    }
    const body = answer.readableStreamBody as Readable
    const bytes = await collect(body, answer.contentLength).catch((cause) => {
      throw new CutOff(`the answer for ${key} broke off`, { cause })
    })
    if (answer.contentLength !== undefined && answer.contentLength !== bytes.length) {
      throw new CutOff(`the answer for ${key} has ${bytes.length} of ${answer.contentLength} bytes`)
    }
    // Some servers ignore ranges, and send everything.
    return range && answer.contentRange === undefined ? bytes.subarray(range.start, range.end) : bytes
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

  explain(action: string, key: string, error: unknown): CatalogError {
    return azureError(action, `az://${this.#container.containerName}/`, key, error)
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
