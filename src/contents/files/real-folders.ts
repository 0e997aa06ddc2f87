import { realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { isInside } from '../../base/content/path.ts'
import { CatalogError } from '../../base/errors.ts'
import { performance } from '../../base/time.ts'
import { isMissing } from './file-errors.ts'

/** At most as many folders are remembered. */
const maxFolders = 10_000
/** Milliseconds that a folder is remembered. */
const maxAge = 1_000

interface Known {
  readonly path: Promise<string>
  readonly until: number
}

/**
 * The real paths of folders below a root, after symbolic links. Links that lead out of the root are refused. A look-up
 * takes as long as reading a small file, so its result is trusted for a second.
 */
export class RealFolders {
  readonly #root: string
  readonly #known = new Map<string, Known>()

  constructor(root: string) {
    this.#root = root
  }

  /** The real path of a folder. Throws what `realpath` does, and `PermissionDenied` where a link leads out. */
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

  /** Forgets a folder after a file in it was found missing, or all folders. */
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

/** The refusal of a path on which a symbolic link leads out of the root. */
function leadsOut(path: string, root: string): CatalogError {
  return new CatalogError(
    'PermissionDenied',
    `The content path ${JSON.stringify(path)} leads out of ${root} by a symbolic link: remove the link.`,
  )
}
