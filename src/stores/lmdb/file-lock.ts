import { closeSync, existsSync, fstatSync, openSync, writeSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { CatalogError } from '../../base/errors.ts'
import { identityOf } from './presence.ts'

/** The used part of the `fs-native-extensions` addon. `tryLock` fails with `EAGAIN` for a conflicting lock. */
interface Addon {
  tryLock(file: number, start: number, length: number, exclusive: boolean): void
  unlock(file: number, start: number, length: number): void
}

let addon: Addon | undefined

/**
 * A file whose byte ranges can be locked: by OFD locks on Linux, by `LockFileEx` on Windows. A lock belongs to one open
 * file, so threads of one process exclude each other too. The kernel drops the lock when the process dies. macOS locks
 * whole files only, so there each area has its own file.
 */
export class FileLock {
  readonly path: string
  /** Whether ranges of bytes can be locked; otherwise only whole files. */
  readonly hasRanges: boolean
  readonly #addon: Addon
  readonly #canWrite: boolean
  readonly #files = new Map<string, number>()

  /** Opens the file. With `canWrite`, creates it when it is missing. */
  constructor(path: string, { canWrite = true, hasRanges = process.platform !== 'darwin' } = {}) {
    this.path = path
    this.hasRanges = hasRanges
    this.#canWrite = canWrite
    this.#addon = loadAddon()
    this.#fileOf('')
  }

  /** Locks bytes of an area, exclusively or shared. False when a conflicting lock is held. */
  tryLock(area: Area, start: number, length: number, { shared = false } = {}): boolean {
    const [file, first, count] = this.#rangeOf(area, start, length)
    try {
      this.#addon.tryLock(file, first, count, !shared)
      return true
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return false
      throw error
    }
  }

  unlock(area: Area, start: number, length: number): void {
    this.#addon.unlock(...this.#rangeOf(area, start, length))
  }

  /** Whether another holder has an exclusive lock on any of these bytes; with `shared` false, any lock. */
  isLocked(area: Area, start: number, length: number, { shared = true } = {}): boolean {
    if (!this.tryLock(area, start, length, { shared })) return true
    this.unlock(area, start, length)
    return false
  }

  get isEmpty(): boolean {
    return fstatSync(this.#fileOf('')).size === 0
  }

  /** The device and inode of the locked file. */
  get identity(): string | undefined {
    return identityOf(this.#fileOf(''))
  }

  /** Writes through the locked file: Windows refuses writes of any other. */
  write(text: string): void {
    writeSync(this.#fileOf(''), text)
  }

  /** Drops all locks. */
  close(): void {
    for (const file of this.#files.values()) closeSync(file)
    this.#files.clear()
  }

  #rangeOf(area: Area, start: number, length: number): [file: number, start: number, length: number] {
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

/** A range of bytes for one purpose. */
export interface Area {
  /** The suffix of its file's name, where only whole files can be locked. */
  readonly name: string
  /** Its first byte, in a file with ranges. Locks may be beyond the end of the file. */
  readonly start: number
}

function loadAddon(): Addon {
  addon ??= findAddon()
  return addon
}

/**
 * Loads the package's binary for this platform. The package's own search for the binary takes 20 ms, so it is only
 * used when the binary is not in the usual folder.
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
