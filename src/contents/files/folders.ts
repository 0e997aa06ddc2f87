import { realpathSync } from 'node:fs'
import { mkdir, realpath } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { isInside } from '../../base/content/path.ts'
import { CatalogError } from '../../base/errors.ts'
import { performance } from '../../base/time.ts'
import { isMissing } from './file-errors.ts'
import { RawFile } from './raw-file.ts'
import { quickly } from './slowness.ts'

/** The most cached folders. */
const maxFolders = 10_000
/** How long a folder is cached, in milliseconds. */
const maxAge = 1_000

interface Known {
  readonly path: Promise<string>
  readonly until: number
}

/**
 * The real paths of folders below a root, after symbolic links. Links to outside of the root are refused. A lookup
 * takes as long as reading a small file, so its result is cached for a second.
 */
export class RealFolders {
  readonly #root: string
  readonly #known = new Map<string, Known>()

  constructor(root: string) {
    this.#root = root
  }

  /** The real path of a folder. Throws the errors of `realpath`, and `PermissionDenied` for a link to outside. */
  find(segments: readonly string[]): Promise<string> {
    const name = segments.join('/')
    const known = this.#known.get(name)
    const now = performance.now()
    if (known && now < known.until) return known.path
    if (this.#known.size >= maxFolders) this.#known.clear()
    const path = this.look(segments)
    const entry = { path, until: now + maxAge }
    this.#known.set(name, entry)
    path.catch(() => {
      if (this.#known.get(name) === entry) this.#known.delete(name)
    })
    return path
  }

  /** The real path of a folder or file, looked up now. That of the root is cached as those of folders are. */
  async look(segments: readonly string[]): Promise<string> {
    if (segments.length === 0) return realPath(this.#root)
    const [root, found] = await Promise.all([this.find([]), realPath(join(this.#root, ...segments))])
    if (isInside(root, found)) return found
    // The root itself may lead elsewhere since it was cached.
    this.forget([])
    const now = await this.find([])
    if (!isInside(now, found)) throw leadsOut(segments.join('/'), now)
    return found
  }

  /**
   * Works in a folder by its real path, which is looked up again where something is missing: where the work says so by
   * the system's error, or finds nothing.
   */
  async use<T>(segments: readonly string[], work: (folder: string) => Promise<T>): Promise<T> {
    const folder = await this.find(segments)
    const outcome = work(folder)
    const isMissed = await outcome.then((found) => found === undefined, isMissing)
    if (!isMissed) return outcome
    this.forget(segments)
    const now = await this.find(segments)
    return now === folder ? outcome : work(now)
  }

  /** Clears the cache of a folder after a file in it was found missing, or of all folders. */
  forget(segments?: readonly string[]): void {
    if (segments === undefined) this.#known.clear()
    else this.#known.delete(segments.join('/'))
  }
}

const realPath = (path: string) =>
  quickly(
    () => realpathSync.native(path),
    () => realpath(path),
  )

/** The result, or undefined when no file of that name exists. */
export function unlessMissing<T>(result: Promise<T>): Promise<T | undefined> {
  return result.catch((error: unknown) => {
    if (!isMissing(error)) throw error
    return undefined
  })
}

/** The error for a path where a symbolic link leads out of the root. */
function leadsOut(path: string, root: string): CatalogError {
  return new CatalogError(
    'PermissionDenied',
    `The content path ${JSON.stringify(path)} leads out of ${root} by a symbolic link: remove the link.`,
  )
}

/**
 * Creates folders below a root. Their names survive a crash of the machine once a file in them is reported as written.
 * Existing folders are synced as well, since they may not have been.
 */
export class DurableFolders {
  readonly #root: string
  readonly #real: RealFolders
  /** Folders whose names are on disk, or will be when the promise resolves. */
  readonly #made = new Map<string, Promise<void>>()

  constructor(root: string, real: RealFolders) {
    this.#root = root
    this.#real = real
  }

  /** Creates a folder below the root if it is missing, and the root itself. Returns the real path of the folder. */
  async make(segments: readonly string[]): Promise<string> {
    await this.#make(segments)
    return this.#real.find(segments)
  }

  /** Clears the cache, after a folder was found missing. */
  forget(): void {
    this.#made.clear()
    this.#real.forget()
  }

  #make(segments: readonly string[]): Promise<void> {
    const name = segments.join('/')
    const known = this.#made.get(name)
    if (known) return known
    if (this.#made.size >= maxFolders) this.#made.clear()
    const made = segments.length === 0 ? this.#makeRoot() : this.#makeBelow(segments)
    this.#made.set(name, made)
    made.catch(() => this.#made.delete(name))
    return made
  }

  async #makeBelow(segments: readonly string[]): Promise<void> {
    const parents = segments.slice(0, -1)
    await this.#make(parents)
    // The parent's real path is checked before anything is created in it.
    const parent = await this.#real.find(parents)
    await mkdir(join(parent, segments.at(-1)!)).catch(ignoreExisting)
    await this.#real.find(segments)
    await syncFolder(parent)
  }

  async #makeRoot(): Promise<void> {
    const firstMade = await mkdir(this.#root, { recursive: true })
    if (firstMade === undefined) return
    for (let made = this.#root; ; made = dirname(made)) {
      await syncFolder(dirname(made))
      if (made === firstMade || made === dirname(made)) return
    }
  }
}

/** Syncs a folder, so that the names in it survive a crash of the machine. */
export async function syncFolder(folder: string): Promise<void> {
  // Windows cannot sync a folder.
  if (process.platform === 'win32') return
  const file = await RawFile.open(folder, 'r')
  try {
    await file.sync()
  } finally {
    file.close()
  }
}

function ignoreExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error
}
