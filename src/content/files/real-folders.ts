import { realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { CatalogError } from '../../errors.ts'
import { isInside } from '../path.ts'
import { isMissing } from './file-errors.ts'

/** Folders remembered at most. */
const most = 10_000
/** Milliseconds a folder is remembered for. */
const longest = 1_000

interface Known {
  readonly path: Promise<string>
  readonly until: number
}

/**
 * Where folders below a root really are, once symbolic links are followed: only as long as they do not lead
 * out. To look takes as long as to read a small file, so what was found is believed for a second.
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
    if (this.#known.size >= most) this.#known.clear()
    const path = this.look(segments)
    const entry = { path, until: now + longest }
    this.#known.set(name, entry)
    path.catch(() => {
      if (this.#known.get(name) === entry) this.#known.delete(name)
    })
    return path
  }

  /** The same of a folder or file, looked for just now. */
  async look(segments: readonly string[]): Promise<string> {
    const [root, found] = await Promise.all([realpath(this.#root), realpath(join(this.#root, ...segments))])
    if (!isInside(root, found)) throw leadsOut(segments.join('/'), root)
    return found
  }

  /** Forgets a folder, after something in it was found to be gone; or all. */
  forget(segments?: readonly string[]): void {
    if (segments === undefined) this.#known.clear()
    else this.#known.delete(segments.join('/'))
  }
}

/** The result, or undefined where there is nothing of that name. */
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
