import type { Identifier } from '../../../base/model/identifier.ts'
import { type ContentFolder, folderName } from '../../locations/locations.ts'
import { foldersOfUnknownClones } from '../../locations/shared-content.ts'
import type { MaintenanceContext } from '../context.ts'
import { findLeftovers } from './leftovers.ts'
import type { Findings } from './report.ts'

/** The files that clones name in the folders of other tables, and the tables whose leftovers wait for all clones. */
export class BorrowedFiles {
  readonly #core: MaintenanceContext
  readonly #known = new Set<string>()
  readonly #files = new Set<string>()
  readonly #waiting: {
    readonly id: Identifier | undefined
    readonly folder: ContentFolder
    readonly reached: ReadonlySet<string>
  }[] = []

  constructor(core: MaintenanceContext) {
    this.#core = core
  }

  /** Notes the files that the versions of a table name. */
  note(folder: ContentFolder, reached: ReadonlySet<string>): void {
    this.#known.add(folderName(this.#core.contentRoots, folder))
    for (const path of reached)
      if (!path.startsWith(folder.prefix)) this.#files.add(this.#nameOf(folder, path))
  }

  /** Defers the search for leftovers of a table whose files clones share. */
  defer(id: Identifier | undefined, folder: ContentFolder, reached: ReadonlySet<string>): void {
    this.#waiting.push({ id, folder, reached })
  }

  /** Reports the leftovers of those tables. A file that a deregistered clone may name is not one. */
  async findLeftovers(findings: Findings): Promise<void> {
    for (const { id, folder, reached } of this.#waiting) {
      const unknown = await foldersOfUnknownClones(this.#core, folder, this.#known)
      if (unknown.includes(folder.prefix)) continue
      const isNeeded = (path: string) => reached.has(path) || this.#files.has(this.#nameOf(folder, path))
      await findLeftovers(this.#core, folder, isNeeded, findings, id)
    }
  }

  #nameOf({ content }: ContentFolder, path: string): string {
    return folderName(this.#core.contentRoots, { content, prefix: path })
  }
}
