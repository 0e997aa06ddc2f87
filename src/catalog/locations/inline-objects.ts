import { deflateRawSync, inflateRawSync } from 'node:zlib'
import type { ByteRange, Content, ListedObject, PutGroup, SharedFiles } from '../../base/content/content.ts'
import { clampRange, isInline } from '../../base/content/path.ts'
import { CatalogError } from '../../base/errors.ts'
import { prefetch } from '../../base/scheduling/prefetch.ts'
import {
  type CatalogRecord,
  type InlineRecord,
  inlineFormat,
  keys,
  recordFormat,
} from '../../base/store/records.ts'
import type { Key, Reader, Store, Writer } from '../../base/store/store.ts'
import type { InlineObjects } from '../../engine/table/index.ts'

/*
 * A small change of rows writes a few small objects. As files, each costs a sync of its own, and as objects of a bucket
 * a request. So they are inline: their bytes are records, which are committed together with the record of the version
 * that names them. Their paths have a mark. A reader looks among the records first. When a table leaves the catalog, its
 * inline objects move into files with the same paths.
 */

/** Most bytes of the inline objects of one change: a commit holds up others. */
const mostOfChange = 128 * 1024

/** Records that one read takes. */
const chunk = 256

/** Objects that move into files at once. */
const movedAtOnce = 32

/** The catalog's own content. Inline objects are in the store. */
export class InlineContent implements Content {
  readonly getRanges?: NonNullable<Content['getRanges']>
  readonly group?: () => PutGroup
  readonly #below: Content
  readonly #store: Store
  /** Objects whose records are not committed yet. */
  readonly #pending: Map<string, Uint8Array>

  constructor(below: Content, store: Store, pending = new Map<string, Uint8Array>()) {
    this.#below = below
    this.#store = store
    this.#pending = pending
    if (below.getRanges) this.getRanges = (path, ranges) => this.#getRanges(path, ranges)
    if (below.group) this.group = () => below.group!()
  }

  get url(): string | undefined {
    return this.#below.url
  }

  get readCost(): number | undefined {
    return this.#below.readCost
  }

  get shared(): SharedFiles | undefined {
    return this.#below.shared
  }

  get uncached(): Content | undefined {
    return this.#below.uncached && this.over(this.#below.uncached)
  }

  /** The content below. */
  get below(): Content {
    return this.#below
  }

  /** The same inline objects, over another content with the same files. */
  over(below: Content): InlineContent {
    return new InlineContent(below, this.#store, this.#pending)
  }

  put(path: string, bytes: Uint8Array | readonly Uint8Array[]): Promise<void> {
    return this.#below.put(path, bytes)
  }

  async get(path: string, range?: ByteRange): Promise<Uint8Array | undefined> {
    if (!isInline(path)) return this.#below.get(path, range)
    const bytes = this.#pending.get(path) ?? (await this.#store.read((reader) => readInline(reader, path)))
    // It may have moved into a file.
    return bytes ? partOf(bytes, range) : this.#below.get(path, range)
  }

  async #getRanges(path: string, ranges: readonly ByteRange[]): Promise<readonly (Uint8Array | undefined)[]> {
    const bytes = isInline(path) ? await this.get(path) : undefined
    if (bytes === undefined) return this.#below.getRanges!(path, ranges)
    return ranges.map((range) => partOf(bytes, range))
  }

  async *list(prefix: string): AsyncGenerator<ListedObject> {
    // A record may move into a file meanwhile. So records come first, and the file of a listed one is left out.
    const listed = new Set<string>()
    for await (const { path, value } of this.#inlineBelow(prefix)) {
      listed.add(path)
      yield { path, size: value.size, modified: value.at }
    }
    for await (const found of this.#below.list(prefix)) if (!listed.has(found.path)) yield found
  }

  async remove(path: string): Promise<void> {
    if (path.endsWith('/')) {
      for await (const some of this.#chunksBelow(path)) {
        await this.#store.write((writer) => {
          for (const { key } of some) writer.remove(key)
        })
      }
    } else if (isInline(path)) {
      const key = keyOf(path)
      if (await this.#store.read((reader) => reader.get(key) !== undefined))
        await this.#store.write((writer) => writer.remove(key))
    }
    return this.#below.remove(path)
  }

  /** Keeps the small objects of one change. */
  objectsOfChange(now: () => number): ChangeInline {
    const most = this.#store.features.inlineBytes ?? 0
    return new ChangeInline(this.#pending, most, now)
  }

  /** Copies the inline objects below a folder into files with the same paths. Their records remain. */
  async copyToFiles(folder: string): Promise<void> {
    const write = async ({ path, value }: InlineObject) => {
      await this.#below.put(path, bytesOf(path, value)).catch((error) => {
        // It was copied before: objects never change.
        if (!(error instanceof CatalogError && error.code === 'ConcurrentModification')) throw error
      })
    }
    for await (const some of this.#chunksBelow(folder))
      for await (const _ of prefetch(some, write, { depth: movedAtOnce }));
  }

  async *#inlineBelow(folder: string): AsyncGenerator<InlineObject> {
    for await (const some of this.#chunksBelow(folder)) yield* some
  }

  async *#chunksBelow(folder: string): AsyncGenerator<readonly InlineObject[]> {
    let after: Key | undefined
    do {
      const some = await this.#store.read((reader) => inlineBelow(reader, folder, after, chunk))
      if (some.length > 0) yield some
      after = some.length === chunk ? some.at(-1)!.key : undefined
    } while (after !== undefined)
  }
}

/** The small objects of one change, until they are committed with its version. */
export class ChangeInline implements InlineObjects {
  readonly #all: Map<string, Uint8Array>
  readonly #own = new Map<string, InlineRecord>()
  readonly #most: number
  readonly #now: () => number
  #bytes = 0

  constructor(all: Map<string, Uint8Array>, most: number, now: () => number) {
    this.#all = all
    this.#most = most
    this.#now = now
  }

  fits(bytes: number): boolean {
    return bytes <= this.#most && this.#bytes + bytes <= mostOfChange
  }

  put(path: string, bytes: Uint8Array | readonly Uint8Array[]): void {
    const whole = Buffer.concat(bytes instanceof Uint8Array ? [bytes] : bytes)
    const { length } = whole
    const deflated = deflateRawSync(whole, { level: 1 }).toString('base64')
    this.#own.set(path, { v: recordFormat, at: this.#now(), size: length, deflated })
    this.#all.set(path, whole)
    this.#bytes += length
  }

  /** Writes the records of the version with this manifest. What only attempts that lost a race wrote is left out. */
  record(writer: Writer, manifest: string): void {
    const named = this.#namedBy(manifest)
    if (named.size === 0) return
    for (const path of named) writer.put(keyOf(path), this.#own.get(path)!)
    const catalog = writer.get<CatalogRecord>(keys.catalog)
    if (catalog !== undefined && catalog.v < inlineFormat)
      writer.put(keys.catalog, { ...catalog, v: inlineFormat })
  }

  /**
   * The objects that a manifest names, also by a segment, and itself. If the manifest is a file, these are all objects
   * but manifests.
   */
  #namedBy(manifest: string): ReadonlySet<string> {
    const named = new Set<string>()
    const find = (text: string) => {
      for (const path of this.#own.keys()) {
        if (named.has(path) || !text.includes(path.slice(path.lastIndexOf('/') + 1))) continue
        named.add(path)
        if (path.endsWith('.json')) find(Buffer.from(this.#all.get(path)!).toString())
      }
    }
    find(manifest)
    return isInline(manifest) ? named : new Set([...this.#own.keys()].filter((path) => !isManifest(path)))
  }

  /** Ends the change: what was committed is read from the store from now on. */
  release(): void {
    for (const path of this.#own.keys()) this.#all.delete(path)
    this.#own.clear()
  }
}

interface InlineObject {
  readonly key: Key
  readonly path: string
  readonly value: InlineRecord
}

/** Removes the records of the inline objects below a folder. */
export function removeInline(writer: Writer, folder: string): void {
  for (const { key } of inlineBelow(writer, folder)) writer.remove(key)
}

/** The inline objects below a folder, whose path ends in a slash or is empty, after a key. */
function inlineBelow(reader: Reader, folder: string, after?: Key, limit?: number): InlineObject[] {
  const range = {
    prefix: keys.inline(folder.split('/').slice(0, -1)),
    ...(after && { start: [...after, 0] }),
    ...(limit && { limit }),
  }
  return Array.from(reader.range<InlineRecord>(range), ({ key, value }) => ({
    key,
    path: key.slice(1).join('/'),
    value,
  }))
}

function readInline(reader: Reader, path: string): Uint8Array | undefined {
  const record = reader.get<InlineRecord>(keyOf(path))
  return record && bytesOf(path, record)
}

function bytesOf(path: string, { size, deflated }: InlineRecord): Uint8Array {
  try {
    return inflateRawSync(Buffer.from(deflated, 'base64'), { maxOutputLength: size })
  } catch (cause) {
    throw new CatalogError(
      'InvalidTableState',
      `The record of the table's object ${JSON.stringify(path)} is damaged. Restore it from a backup.`,
      { cause },
    )
  }
}

function keyOf(path: string): Key {
  return keys.inline(path.split('/'))
}

function isManifest(path: string): boolean {
  return /(?:^|\/)_versions\/[^/]+$/.test(path)
}

function partOf(bytes: Uint8Array, range: ByteRange | undefined): Uint8Array {
  const { start, end } = clampRange(bytes.length, range)
  // A copy, which callers may change: a slice of a Buffer would be a view.
  return new Uint8Array(bytes.subarray(start, end))
}
