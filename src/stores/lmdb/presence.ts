import { fstatSync, statSync } from 'node:fs'
import { CatalogError } from '../../base/errors.ts'

/**
 * Detects that open files were removed or replaced. LMDB would then write to a file without a name, and locks on a file
 * without a name exclude no process.
 */
export class Presence {
  readonly #known = new Map<string, string>()
  readonly #awaited = new Set<string>()

  /** Adds files and folders that must stay. A missing one must stay once it exists. */
  add(paths: Iterable<string>): void {
    for (const path of paths) if (!this.#known.has(path)) this.#awaited.add(path)
    this.#adopt()
  }

  /** The path of one that was removed or replaced. Takes some microseconds. */
  missing(): string | undefined {
    for (const [path, known] of this.#known) if (identityOf(path) !== known) return path
    if (this.#awaited.size > 0) this.#adopt()
    return undefined
  }

  /** The device and inode at a path when it was added. */
  knownAs(path: string): string | undefined {
    return this.#known.get(path)
  }

  #adopt(): void {
    for (const path of this.#awaited) {
      const found = identityOf(path)
      if (found === undefined) continue
      this.#known.set(path, found)
      this.#awaited.delete(path)
    }
  }
}

/** The device and inode at a path, or of an open file. */
export function identityOf(file: string | number): string | undefined {
  const found = typeof file === 'number' ? fstatSync(file) : statSync(file, { throwIfNoEntry: false })
  return found && `${found.dev}:${found.ino}`
}

/** What refuses a change once the file at `path` is missing. */
export function gone(path: string): CatalogError {
  return new CatalogError(
    'ServiceUnavailable',
    `Cannot write: ${path} was removed or replaced while the catalog was open, so nothing of the change was kept. Close the catalog, restore the directory from a backup if need be, and open it again.`,
  )
}
