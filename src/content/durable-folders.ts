import { mkdir, open, realpath } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { CatalogError } from '../errors.ts'
import { isInside } from './path.ts'

/** Folders remembered at most. */
const most = 10_000

/**
 * Makes folders below a root, and makes sure that their names outlast a crash of the machine before anything
 * in them is said to. Folders that were there count as well, since nobody knows whether those were synced.
 */
export class DurableFolders {
  readonly #root: string
  /** Folders whose names are on disk, or will be when the promise resolves. */
  readonly #made = new Map<string, Promise<void>>()

  constructor(root: string) {
    this.#root = root
  }

  /** Makes a folder below the root, and the root itself, as far as missing, and answers with its real path. */
  async make(segments: readonly string[]): Promise<string> {
    await this.#make(segments)
    return this.#realPath(segments)
  }

  /** Forgets folders, after some of them were found to be gone. */
  forget(): void {
    this.#made.clear()
  }

  #make(segments: readonly string[]): Promise<void> {
    const name = segments.join('/')
    const known = this.#made.get(name)
    if (known) return known
    if (this.#made.size >= most) this.#made.clear()
    const made = segments.length === 0 ? this.#makeRoot() : this.#makeBelow(segments)
    this.#made.set(name, made)
    made.catch(() => this.#made.delete(name))
    return made
  }

  async #makeBelow(segments: readonly string[]): Promise<void> {
    const parents = segments.slice(0, -1)
    await this.#make(parents)
    // Nothing is made before it is known where.
    const parent = await this.#realPath(parents)
    await mkdir(join(parent, segments.at(-1)!)).catch(ignoreExisting)
    await this.#realPath(segments)
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

  async #realPath(segments: readonly string[]): Promise<string> {
    const [root, folder] = await Promise.all([realpath(this.#root), realpath(join(this.#root, ...segments))])
    if (!isInside(root, folder)) throw leadsOut(segments.join('/'), root)
    return folder
  }
}

/** The refusal of a path on which a symbolic link leads out of the root. */
export function leadsOut(path: string, root: string): CatalogError {
  return new CatalogError(
    'PermissionDenied',
    `The content path ${JSON.stringify(path)} leads out of ${root} by a symbolic link: remove the link.`,
  )
}

/** Makes the names in a folder outlast a crash of the machine. */
export async function syncFolder(folder: string): Promise<void> {
  // Windows has no such thing.
  if (process.platform === 'win32') return
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

function ignoreExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error
}
