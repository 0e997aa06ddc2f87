import { type Bucket, type BucketObject, joined, type Reason } from '../../../src/contents/bucket/bucket.ts'

/** A bucket in memory that notes each request to read. */
export class MemoryBucket implements Bucket {
  readonly root = 'memory://'
  /** Reads as `key start-end`, or `key` alone. */
  readonly reads: string[] = []
  /** How many bytes were read. */
  bytes = 0
  /** Most requests to read that were under way at once. */
  most = 0
  /** What is done with bytes on their way. */
  passing: (bytes: Uint8Array) => Uint8Array = (bytes) => bytes
  readonly #objects = new Map<string, { readonly bytes: Uint8Array; readonly attempt: string }>()
  #underWay = 0

  async create(key: string, parts: readonly Uint8Array[], attempt: string): Promise<'created' | 'taken'> {
    if (this.#objects.has(key)) return 'taken'
    this.#objects.set(key, { bytes: new Uint8Array(joined(parts)), attempt })
    return 'created'
  }

  async attemptOf(key: string): Promise<string | undefined> {
    return this.#objects.get(key)?.attempt
  }

  async replace(key: string, bytes: Uint8Array): Promise<void> {
    this.#objects.set(key, { bytes: new Uint8Array(bytes), attempt: '' })
  }

  async read(key: string, range?: { readonly start: number; readonly end: number }) {
    this.reads.push(range === undefined ? key : `${key} ${range.start}-${range.end}`)
    this.most = Math.max(this.most, ++this.#underWay)
    await new Promise(setImmediate)
    this.#underWay--
    const bytes = this.#objects.get(key)?.bytes.slice(range?.start, range?.end)
    this.bytes += bytes?.length ?? 0
    return bytes && this.passing(bytes)
  }

  async sizeOf(key: string): Promise<number | undefined> {
    return this.#objects.get(key)?.bytes.length
  }

  async *list(prefix: string): AsyncGenerator<BucketObject> {
    for (const [key, { bytes }] of this.#objects) {
      if (key.startsWith(prefix)) yield { key, size: bytes.length, modified: Date.now() }
    }
  }

  async names(prefix: string): Promise<readonly string[]> {
    const names: string[] = []
    for await (const { key } of this.list(prefix)) names.push(key.slice(prefix.length))
    return names.filter((name) => !name.includes('/'))
  }

  async remove(keys: readonly string[]): Promise<void> {
    for (const key of keys) this.#objects.delete(key)
  }

  reasonOf(error: unknown): Reason {
    return ['Internal', String(error)]
  }
}
