import { randomUUID } from 'node:crypto'
import { mkdir, open, readdir, rename, stat, unlink, utimes } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { checksumOfRead } from '../../base/scheduling/checksum.ts'
import { performance, wallClock } from '../../base/time.ts'
import { readFile } from '../files/read-file.ts'

/** The fraction of the limit that one writer may write before it measures the whole cache. */
const share = 1 / 64
/** The fraction of the limit that a sweep keeps: as much is free for eight writers. */
const kept = 7 / 8
/** The largest entry, as a fraction of the limit: a larger one would evict too many others. */
const maxOfLimit = 1 / 16
/** The most bytes that wait to be written. Beyond them, nothing is cached: reading goes first. */
const maxWaiting = 64 << 20
/** The pause of writing after a full disk, or another failure, in milliseconds. */
const pause = 60_000
/** Milliseconds after which a used entry is marked as used again. */
const touchInterval = 60_000
/** The age in milliseconds from which the writer of an unfinished file counts as gone. */
const abandoned = 3_600_000

/**
 * A cache in the files of a folder, up to a number of bytes, with least recently used eviction. Any number of threads
 * and processes may share the folder. An entry is made by renaming a whole file, never changes, and has a checksum that
 * each read compares. No method throws, whatever happens to the files.
 */
export class DiskCache {
  readonly #folder: string
  readonly #limit: number
  readonly #touched = new Set<string>()
  #touchedSince = performance.now()
  #waiting = 0
  #written = 0
  #pausedUntil = Number.NEGATIVE_INFINITY
  #work: Promise<void>
  #sweeping = false
  /** How often {@link get} found an entry, and how often not. */
  readonly found = { hits: 0, misses: 0 }

  /** The folder must belong to this user alone. */
  constructor(folder: string, limit: number) {
    this.#folder = folder
    this.#limit = limit
    this.#work = this.#sweep()
  }

  /** The bytes under a key, which is hexadecimal; undefined when they are missing or damaged. */
  async get(key: string): Promise<Uint8Array | undefined> {
    const file = this.#fileOf(key)
    const found = await readEntry(file, key)
    if (found instanceof Uint8Array) {
      this.found.hits++
      this.#touch(key, file)
      return found
    }
    this.found.misses++
    if (found === 'damaged') await remove(file)
    return undefined
  }

  /** Caches bytes, unless too many wait already. They are written after this returns, and must not change. */
  put(key: string, bytes: Uint8Array): void {
    if (this.#waiting + bytes.length > maxWaiting || performance.now() < this.#pausedUntil) return
    if (bytes.length === 0 || sizeOnDisk(bytes.length) > this.#limit * maxOfLimit) return
    this.#waiting += bytes.length
    const written = this.#write(key, bytes).finally(() => {
      this.#waiting -= bytes.length
    })
    this.#work = Promise.all([this.#work, written]).then(() => {})
  }

  /** Removes the entry of a key. */
  async drop(key: string): Promise<void> {
    await remove(this.#fileOf(key))
  }

  /** Resolves when no write or removal is pending. */
  async idle(): Promise<void> {
    for (let work: Promise<void> | undefined; work !== this.#work; ) {
      work = this.#work
      await work
    }
  }

  #fileOf(key: string): string {
    return join(this.#folder, key.slice(0, 2), key.slice(2))
  }

  async #write(key: string, bytes: Uint8Array): Promise<void> {
    try {
      await writeEntry(this.#fileOf(key), key, bytes)
    } catch {
      this.#pausedUntil = performance.now() + pause
      return
    }
    this.#written += sizeOnDisk(bytes.length)
    if (this.#written >= this.#limit * share) await this.#sweep()
  }

  #touch(key: string, file: string): void {
    const now = performance.now()
    if (now - this.#touchedSince > touchInterval || this.#touched.size > 10_000) {
      this.#touched.clear()
      this.#touchedSince = now
    }
    if (this.#touched.has(key)) return
    this.#touched.add(key)
    const time = new Date(wallClock())
    utimes(file, time, time).catch(() => {})
  }

  /** Evicts the least recently used entries, until there is room for what writers add. */
  async #sweep(): Promise<void> {
    if (this.#sweeping) return
    this.#sweeping = true
    this.#written = 0
    try {
      const entries = await this.#list()
      let bytes = entries.reduce((sum, { size }) => sum + size, 0)
      if (bytes <= this.#limit * kept) return
      entries.sort((a, b) => a.used - b.used)
      for (const { file, size } of entries) {
        if (bytes <= this.#limit * kept) break
        await remove(file)
        bytes -= size
      }
    } catch {
      // The next sweep may succeed.
    } finally {
      this.#sweeping = false
    }
  }

  async #list(): Promise<{ readonly file: string; readonly size: number; readonly used: number }[]> {
    const entries: { file: string; size: number; used: number }[] = []
    for (const name of await readdir(this.#folder)) {
      if (!/^[0-9a-f]{2}$/.test(name)) continue
      const folder = join(this.#folder, name)
      const files = (await readdir(folder)).filter((file) =>
        /^(?:[0-9a-f]{62}|\.[0-9a-f-]{36}\.partial)$/.test(file),
      )
      await Promise.all(
        files.map(async (name) => {
          const file = join(folder, name)
          const found = await stat(file).catch(() => undefined)
          if (found === undefined) return
          if (name.startsWith('.') && wallClock() - found.mtimeMs > abandoned) await remove(file)
          else entries.push({ file, size: sizeOnDisk(found.size), used: found.mtimeMs })
        }),
      )
    }
    return entries
  }
}

/** The bytes on disk of a file of this size, with its metadata. */
function sizeOnDisk(bytes: number): number {
  return (Math.ceil(bytes / 4096) + 1) * 4096
}

function remove(file: string): Promise<void> {
  return unlink(file).catch(() => {})
}

/*
 * A file of the cache has a magic number, a checksum, the length, and the bytes. The checksum includes the key. So a
 * file that was truncated, damaged or renamed is rejected.
 */

const mark = 'tabcach2'
const headBytes = 24

/** The bytes in a file; undefined when it is missing, and `damaged` when it is invalid. */
async function readEntry(file: string, key: string): Promise<Uint8Array | 'damaged' | undefined> {
  let found: Uint8Array | undefined
  try {
    found = await readFile(file, undefined, 'refuse')
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? undefined : 'damaged'
  }
  if (found === undefined || found.length < headBytes) return 'damaged'
  const head = Buffer.from(found.buffer, found.byteOffset, headBytes)
  const bytes = found.subarray(headBytes)
  const isWhole = head.toString('latin1', 0, 8) === mark && head.readDoubleLE(16) === bytes.length
  return isWhole && head.readUInt32LE(8) === (await sumOf(key, bytes)) ? bytes : 'damaged'
}

/** Writes a file. It gets its name when it is whole; after a crash of the machine, the checksum shows damage. */
async function writeEntry(file: string, key: string, bytes: Uint8Array): Promise<void> {
  const head = Buffer.alloc(headBytes)
  head.write(mark, 0, 'latin1')
  head.writeUInt32LE(await sumOf(key, bytes), 8)
  head.writeDoubleLE(bytes.length, 16)
  const folder = dirname(file)
  const partial = join(folder, `.${randomUUID()}.partial`)
  const handle = await open(partial, 'wx', 0o600).catch(async (error) => {
    if (error.code !== 'ENOENT') throw error
    await mkdir(folder, { recursive: true, mode: 0o700 })
    return open(partial, 'wx', 0o600)
  })
  try {
    try {
      await handle.writeFile(head)
      await handle.writeFile(bytes)
    } finally {
      await handle.close()
    }
    await rename(partial, file)
  } catch (error) {
    await unlink(partial).catch(() => {})
    throw error
  }
}

/** Readers also compare the checksum of the bytes alone, which is therefore calculated without the key. */
async function sumOf(key: string, bytes: Uint8Array): Promise<number> {
  return ((await checksumOfRead(bytes)) ^ Number.parseInt(key.slice(0, 8), 16)) >>> 0
}
