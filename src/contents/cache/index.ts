import { createHash } from 'node:crypto'
import { lstat, mkdir, realpath } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { ByteRange, Content } from '../../base/content/content.ts'
import { CatalogError, invalid } from '../../base/errors.ts'
import { DiskCache } from './disk-cache.ts'

/** Where objects are cached on local disk, and the limit. */
export interface ContentCacheOptions {
  /** The folder, which is created when it is missing. Only this user may be able to write there. */
  readonly folder: string
  /** The most bytes on disk. Default: 10 GiB. */
  readonly bytes?: number | undefined
}

/** A cache whose folder exists, and that no other user can write. */
export interface ContentCache {
  readonly folder: string
  readonly bytes: number
  /** The catalog of the objects. Caches of several catalogs may share a folder. */
  readonly owner: string
}

/** The folder below the user's one. Its name has the format of the files. */
const formFolder = 'tabularium-1'

/** Creates the folder of a cache. Refuses one that others can write. */
export async function openContentCache(
  { folder, bytes = 10 * 1024 ** 3 }: ContentCacheOptions,
  owner: string,
): Promise<ContentCache> {
  await privateFolder(folder)
  return { folder, bytes, owner }
}

/**
 * A content that caches reads of another one in files on local disk. Only for objects whose path is never reused, as
 * the copy stays when the object is removed.
 */
export async function cachedContent(content: Content, cache: ContentCache): Promise<CachedContent> {
  const { owner, bytes } = cache
  const folder = await privateFolder(cache.folder)
  const url = content.url && `${content.url}${separator}${encodeURIComponent(JSON.stringify(cache))}`
  return new CachedContent(content, new DiskCache(folder, bytes), owner, url)
}

/** Separates the URL of a content from its cache. URLs of contents have no fragments. */
const separator = '#cache='

/** The parts of the URL of a cached content; undefined for any other. */
export function readCachedUrl(
  url: string,
): { readonly url: string; readonly cache: ContentCache } | undefined {
  const at = url.indexOf(separator)
  if (at < 0) return undefined
  return { url: url.slice(0, at), cache: JSON.parse(decodeURIComponent(url.slice(at + separator.length))) }
}

export class CachedContent implements Content {
  readonly url: string | undefined
  readonly uncached: Content
  readonly #content: Content
  readonly #disk: DiskCache
  readonly #owner: string

  constructor(content: Content, disk: DiskCache, owner: string, url: string | undefined) {
    this.#content = content
    this.#disk = disk
    this.#owner = owner
    this.url = url
    this.uncached = {
      put: (...given) => content.put(...given),
      list: (...given) => content.list(...given),
      remove: (...given) => content.remove(...given),
      get: async (path, range) => {
        await disk.drop(this.#key(path, range))
        return content.get(path, range)
      },
    }
  }

  put(...given: Parameters<Content['put']>): Promise<void> {
    return this.#content.put(...given)
  }

  list(...given: Parameters<Content['list']>): ReturnType<Content['list']> {
    return this.#content.list(...given)
  }

  remove(...given: Parameters<Content['remove']>): Promise<void> {
    return this.#content.remove(...given)
  }

  get readCost() {
    return this.#content.readCost
  }

  get shared() {
    return this.#content.shared
  }

  get sign(): Content['sign'] {
    return this.#content.sign
  }

  async get(path: string, range?: ByteRange): Promise<Uint8Array | undefined> {
    const key = this.#key(path, range)
    const found = await this.#disk.get(key)
    if (found !== undefined) return found
    const bytes = await this.#content.get(path, range)
    if (bytes !== undefined) this.#disk.put(key, bytes)
    return bytes
  }

  async getRanges(path: string, ranges: readonly ByteRange[]): Promise<readonly (Uint8Array | undefined)[]> {
    const content = this.#content
    const keys = ranges.map((range) => this.#key(path, range))
    const found = await Promise.all(keys.map((key) => this.#disk.get(key)))
    const missing = [...found.keys()].filter((i) => found[i] === undefined)
    if (missing.length === 0) return found
    const wanted = missing.map((i) => ranges[i]!)
    const read =
      content.getRanges === undefined
        ? await Promise.all(wanted.map((range) => content.get(path, range)))
        : await content.getRanges(path, wanted)
    for (const [at, i] of missing.entries()) {
      const bytes = read[at]
      if (bytes !== undefined) this.#disk.put(keys[i]!, bytes)
      found[i] = bytes
    }
    return found
  }

  /** The cache hits and misses of reads. */
  get found(): { readonly hits: number; readonly misses: number } {
    return this.#disk.found
  }

  /** Resolves when all pending writes of the cache are done. */
  idle(): Promise<void> {
    return this.#disk.idle()
  }

  #key(path: string, range: ByteRange | undefined): string {
    const part = range === undefined ? 'all' : `${range.start}-${range.end}`
    return createHash('sha256').update(`${this.#owner}\0${path}\0${part}`).digest('hex')
  }
}

/**
 * Creates a folder for this user only, below the caller's one, and returns its path. Refuses a location where others
 * could put files, since readers later trust the files there.
 */
async function privateFolder(below: string): Promise<string> {
  try {
    await mkdir(below, { recursive: true, mode: 0o700 })
    const folder = join(await realpath(below), formFolder)
    await mkdir(folder, { mode: 0o700 }).catch((error) => {
      if (error.code !== 'EEXIST') throw error
    })
    await requireSafe(folder)
    return folder
  } catch (cause) {
    if (cause instanceof CatalogError) throw cause
    throw invalid(
      `The folder of the content cache, ${JSON.stringify(below)}, cannot be used: ${(cause as Error).message}. Give a folder that this process may write.`,
      { cause },
    )
  }
}

/** Refuses a folder that others can read or write, and one below a folder that others can write. */
async function requireSafe(folder: string): Promise<void> {
  const user = process.getuid?.()
  // Windows has no such permissions. There, a folder inherits those of its parent.
  if (user === undefined) return
  for (let path = folder; ; path = dirname(path)) {
    const { uid, mode } = await lstat(path)
    const isOurs = uid === user || (uid === 0 && path !== folder)
    // In a folder like /tmp (with the sticky bit), users cannot rename the files of others.
    const forbidden = path === folder ? 0o077 : (mode & 0o1000) === 0 ? 0o022 : 0
    if (!isOurs || (mode & forbidden) !== 0) {
      const fact = isOurs ? 'is open to other users' : 'belongs to another user'
      const right = path === folder ? 'go=' : 'go-w'
      throw invalid(
        `The content cache cannot lie in ${JSON.stringify(folder)}: ${JSON.stringify(path)} ${fact}. Give a folder that nobody else can write${isOurs ? `, or run chmod ${right} on that one` : ''}.`,
      )
    }
    if (path === dirname(path)) return
  }
}
