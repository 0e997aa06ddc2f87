import { deflateRawSync, inflateRawSync } from 'node:zlib'
import type { ByteRange, Content, ListedObject, PutGroup, SharedFiles } from '../../base/content/content.ts'
import { clampRange, isInline } from '../../base/content/path.ts'
import { CatalogError } from '../../base/errors.ts'
import { prefetch } from '../../base/scheduling/prefetch.ts'
import { TimeSlice } from '../../base/scheduling/time-slice.ts'
import { type InlineRecord, inlineFormat, keys, recordFormat } from '../../base/store/records.ts'
import type { Key, Reader, Store, Writer } from '../../base/store/store.ts'
import type { InlineObjects } from '../../engine/table/index.ts'
import { requireFormat } from '../lookup/catalog-format.ts'

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

/** Records that one commit removes. */
const removedAtOnce = 1_000

/** Objects that move into files at once. */
const movedAtOnce = 32

/** The names of inline objects in a path, or in the text of a manifest, which is JSON with their paths. */
const inlineNames = /(?<=^|[/"])[^/"]*\.inline\.(?:arrow|json)/g

/** A store may read records without a turn of the event loop. So work that reads many of them rests in between. */
const timeSlice = new TimeSlice(undefined)

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

  get sign(): Content['sign'] {
    return this.#below.sign
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
    if (timeSlice.due) await timeSlice.rest()
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
      const read = () => this.#store.read((reader) => keysBelow(reader, path, removedAtOnce))
      for (let some = await read(); some.length > 0; some = await read()) {
        await this.#store.write((writer) => {
          for (const key of some) writer.remove(key)
        })
      }
    } else if (isInline(path)) {
      if (await hasInline(this.#store, path)) await this.#store.write((writer) => writer.remove(keyOf(path)))
    }
    return this.#below.remove(path)
  }

  /** Keeps the small objects of one change. */
  objectsOfChange(now: () => number): ChangeInline {
    const most = this.#store.features.inlineBytes ?? 0
    return new ChangeInline(this.#pending, most, now)
  }

  /**
   * Copies the inline objects below a folder into files with the same paths. Their records remain. Those that are not
   * committed yet become files for good. Leaves out the paths in `copied`, and adds the others to it. A damaged object
   * becomes a file of what its record has, and whoever reads the file notices.
   */
  async copyToFiles(folder: string, copied: Set<string>): Promise<void> {
    const write = async (path: string, bytes: Uint8Array) => {
      await this.#below.put(path, bytes).catch((error) => {
        // It was copied before: objects never change.
        if (!(error instanceof CatalogError && error.code === 'ConcurrentModification')) throw error
      })
      copied.add(path)
    }
    const copy = ({ path, value }: InlineObject) => write(path, bytesLeft(path, value))
    const move = async ([path, bytes]: [string, Uint8Array]) => {
      await write(path, bytes)
      this.#pending.delete(path)
    }
    const pending = [...this.#pending].filter(([path]) => path.startsWith(folder))
    for await (const _ of prefetch(pending, move, { depth: movedAtOnce }));
    for await (const some of this.#chunksBelow(folder)) {
      const others = some.filter(({ path }) => !copied.has(path))
      for await (const _ of prefetch(others, copy, { depth: movedAtOnce }));
    }
  }

  async *#inlineBelow(folder: string): AsyncGenerator<InlineObject> {
    for await (const some of this.#chunksBelow(folder)) yield* some
  }

  async *#chunksBelow(folder: string): AsyncGenerator<readonly InlineObject[]> {
    let after: Key | undefined
    do {
      const some = await this.#store.read((reader) => inlineBelow(reader, folder, after, chunk))
      if (some.length > 0) yield some
      if (timeSlice.due) await timeSlice.rest()
      after = some.length === chunk ? some.at(-1)!.key : undefined
    } while (after !== undefined)
  }
}

/** The small objects of one change, or of a transaction, until they are committed with the versions that name them. */
export class ChangeInline implements InlineObjects {
  /** Those of all changes whose records are not committed. One that is no longer here has become a file. */
  readonly #all: Map<string, Uint8Array>
  readonly #own = new Map<string, OwnObject>()
  readonly #most: number
  readonly #now: () => number
  #bytes = 0
  #isReleased = false

  constructor(all: Map<string, Uint8Array>, most: number, now: () => number) {
    this.#all = all
    this.#most = most
    this.#now = now
  }

  /** The bytes of all objects, of at most 128 KiB. */
  get bytes(): number {
    return this.#bytes
  }

  fits(bytes: number): boolean {
    return bytes <= this.#most && this.#bytes + bytes <= mostOfChange
  }

  put(path: string, bytes: Uint8Array | readonly Uint8Array[]): void {
    const whole = Buffer.concat(bytes instanceof Uint8Array ? [bytes] : bytes)
    const { length } = whole
    const deflated = deflateRawSync(whole, { level: 1 }).toString('base64')
    // A change that failed may still be writing objects.
    if (this.#isReleased) return
    this.#own.set(path, { whole, record: { v: recordFormat, at: this.#now(), size: length, deflated } })
    this.#all.set(path, whole)
    this.#bytes += length
  }

  /** Writes the records of the versions with these manifests. What only attempts that lost a race wrote is left out. */
  record(writer: Writer, manifests: readonly string[]): void {
    let isAny = false
    for (const path of this.#namedBy(manifests)) {
      if (!this.#all.has(path)) continue
      writer.put(keyOf(path), this.#own.get(path)!.record)
      isAny = true
    }
    if (isAny) requireFormat(writer, inlineFormat)
  }

  /**
   * The objects that manifests name, also by a segment, and themselves. If one of the manifests is a file, these are all
   * objects but manifests that are not among them.
   */
  #namedBy(manifests: readonly string[]): ReadonlySet<string> {
    // Names are unique, also among tables.
    const paths = new Map(
      Array.from(this.#own.keys(), (path) => [path.slice(path.lastIndexOf('/') + 1), path]),
    )
    const named = new Set<string>()
    const find = (text: string) => {
      for (const [name] of text.matchAll(inlineNames)) {
        const path = paths.get(name)
        if (path === undefined || named.has(path)) continue
        named.add(path)
        if (path.endsWith('.json')) find(this.#own.get(path)!.whole.toString())
      }
    }
    for (const manifest of manifests) find(manifest)
    if (!manifests.every(isInline))
      for (const path of this.#own.keys()) if (!isManifest(path)) named.add(path)
    return named
  }

  /** Ends the change: what was committed is read from the store from now on. */
  release(): void {
    this.#isReleased = true
    for (const path of this.#own.keys()) this.#all.delete(path)
    this.#own.clear()
  }
}

/** Keeps the small objects of a change in a content. Undefined where they are files. */
export function inlineOf(core: { readonly now: () => number }, content: Content): ChangeInline | undefined {
  return content instanceof InlineContent ? content.objectsOfChange(core.now) : undefined
}

interface OwnObject {
  readonly whole: Buffer
  readonly record: InlineRecord
}

interface InlineObject {
  readonly key: Key
  readonly path: string
  readonly value: InlineRecord
}

/** Removes the records of the inline objects below a folder. */
export function removeInline(writer: Writer, folder: string): void {
  for (const key of keysBelow(writer, folder)) writer.remove(key)
}

/** Whether an inline object is among the records. It may have moved into a file. */
export function hasInline(store: Store, path: string): Promise<boolean> {
  return store.read((reader) => reader.get(keyOf(path)) !== undefined)
}

function keysBelow(reader: Reader, folder: string, limit?: number): Key[] {
  const range = { prefix: prefixOf(folder), keysOnly: true, ...(limit && { limit }) }
  return Array.from(reader.range(range), ({ key }) => key)
}

/** The inline objects below a folder, whose path ends in a slash or is empty, after a key. */
function inlineBelow(reader: Reader, folder: string, after: Key | undefined, limit: number): InlineObject[] {
  const range = { prefix: prefixOf(folder), limit, ...(after && { start: [...after, 0] }) }
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

function bytesOf(path: string, record: InlineRecord): Uint8Array {
  try {
    return inflateRawSync(compressed(record), { maxOutputLength: record.size })
  } catch (cause) {
    throw new CatalogError(
      'InvalidTableState',
      `The record of the table's object ${JSON.stringify(path)} is damaged. Restore it from a backup.`,
      { cause },
    )
  }
}

/** The bytes of an object. Of a damaged one, those that its record has. */
function bytesLeft(path: string, record: InlineRecord): Uint8Array {
  try {
    return bytesOf(path, record)
  } catch {
    return compressed(record)
  }
}

function compressed({ deflated }: InlineRecord): Uint8Array {
  return Buffer.from(deflated, 'base64')
}

function prefixOf(folder: string): Key {
  return keys.inline(folder.split('/').slice(0, -1))
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
