import { realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { isInside } from '../../base/content/path.ts'
import { CatalogError } from '../../base/errors.ts'
import { performance } from '../../base/time.ts'
import { isMissing } from './file-errors.ts'

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

  /** The real path of a folder or file, looked up now. */
  async look(segments: readonly string[]): Promise<string> {
    const [root, found] = await Promise.all([realpath(this.#root), realpath(join(this.#root, ...segments))])
    if (!isInside(root, found)) throw leadsOut(segments.join('/'), root)
    return found
  }

  /** Clears the cache of a folder after a file in it was found missing, or of all folders. */
  forget(segments?: readonly string[]): void {
    if (segments === undefined) this.#known.clear()
    else this.#known.delete(segments.join('/'))
  }
}

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
