import { closeSync, existsSync, fstatSync, openSync, writeSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { CatalogError } from '../../errors.ts'

/** What this needs of the `fs-native-extensions` addon. A lock that somebody else has fails with `EAGAIN`. */
interface Addon {
  tryLock(file: number, start: number, length: number, exclusive: boolean): void
  unlock(file: number, start: number, length: number): void
}

let addon: Addon | undefined

/**
 * A file whose bytes are locked by the kernel: OFD locks on Linux, `LockFileEx` on Windows. A lock belongs to one
 * open file, so that threads of one process exclude each other too, and the kernel drops it when the process dies.
 * macOS locks whole files only: there each area has a file of its own, and all its bytes are one.
 */
export class FileLock {
  readonly path: string
  /** Whether bytes are locked one by one. */
  readonly hasRanges: boolean
  readonly #addon: Addon
  readonly #canWrite: boolean
  readonly #files = new Map<string, number>()

  /** Opens the file, and makes it when it is missing, unless it is only to be read. */
  constructor(path: string, { canWrite = true, hasRanges = process.platform !== 'darwin' } = {}) {
    this.path = path
    this.hasRanges = hasRanges
    this.#canWrite = canWrite
    this.#addon = loadAddon()
    this.#fileOf('')
  }

  /** Locks bytes of an area, against everybody or only against exclusive locks. False when somebody is in the way. */
  tryLock(area: Area, start: number, length: number, { shared = false } = {}): boolean {
    const [file, first, count] = this.#place(area, start, length)
    try {
      this.#addon.tryLock(file, first, count, !shared)
      return true
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return false
      throw error
    }
  }

  unlock(area: Area, start: number, length: number): void {
    this.#addon.unlock(...this.#place(area, start, length))
  }

  /** Whether somebody else has an exclusive lock on any of these bytes, or any lock, when `shared` is false. */
  isLocked(area: Area, start: number, length: number, { shared = true } = {}): boolean {
    if (!this.tryLock(area, start, length, { shared })) return true
    this.unlock(area, start, length)
    return false
  }

  get isEmpty(): boolean {
    return fstatSync(this.#fileOf('')).size === 0
  }

  /** Writes through the file that has the locks: Windows keeps all others out. */
  write(text: string): void {
    writeSync(this.#fileOf(''), text)
  }

  /** Drops all locks. */
  close(): void {
    for (const file of this.#files.values()) closeSync(file)
    this.#files.clear()
  }

  #place(area: Area, start: number, length: number): [file: number, start: number, length: number] {
    if (!this.hasRanges) return [this.#fileOf(area.name), 0, 0]
    return [this.#fileOf(''), area.start + start, length]
  }

  #fileOf(name: string): number {
    let file = this.#files.get(name)
    if (file === undefined) {
      file = openSync(this.path + name, this.#canWrite ? 'a+' : 'r')
      this.#files.set(name, file)
    }
    return file
  }
}

/** Bytes that are locked for one purpose. */
export interface Area {
  /** What the name of its file ends in, where files are locked as a whole. */
  readonly name: string
  /** Where it begins in a file with ranges. Locks may lie beyond the end of a file. */
  readonly start: number
}

function loadAddon(): Addon {
  addon ??= findAddon()
  return addon
}

/**
 * Loads the package's binary for this platform. The package itself looks for it in a way that takes 20 ms; that way
 * is taken when the binary is not where it usually lies.
 */
function findAddon(): Addon {
  const require = createRequire(import.meta.url)
  try {
    const folder = dirname(require.resolve('fs-native-extensions'))
    const binary = join(
      folder,
      'prebuilds',
      `${process.platform}-${process.arch}`,
      'fs-native-extensions.node',
    )
    return existsSync(binary) ? require(binary) : require(join(folder, 'binding.js'))
  } catch (cause) {
    throw new CatalogError(
      'Unsupported',
      `A catalog on disk needs file locks, and the package fs-native-extensions has none for ${process.platform}-${process.arch}. Install it, or keep the catalog in memory or behind HTTP.`,
      { cause },
    )
  }
}
