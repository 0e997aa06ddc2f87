import { opendir } from 'node:fs/promises'
import { invalid } from '../../base/errors.ts'
import type { ContentRoot } from '../../catalog/index.ts'
import { folderRoot } from '../../tabularium/content-root.ts'

/** The folder of a fake and its forks for declared tables, which Lance's clients write directly. */
export class LanceFolder {
  readonly root: ContentRoot
  #subfolders = 0

  private constructor(root: ContentRoot) {
    this.root = root
  }

  /** Opens an empty folder. Ids of a fake repeat, so files of an earlier run would collide. */
  static async open(folder: string): Promise<LanceFolder> {
    if (typeof folder !== 'string' || folder === '')
      throw invalid('lanceFolder must be the path of an empty folder.')
    const root = await folderRoot('lanceFolder', folder)
    for await (const { name } of await opendir(folder)) {
      throw invalid(
        `lanceFolder: ${JSON.stringify(folder)} holds ${JSON.stringify(name)}. Give an empty folder: tables of an earlier run would be in the way.`,
      )
    }
    return new LanceFolder(root)
  }

  /** A new subfolder for declared tables. Files that Lance wrote earlier stay in other subfolders. */
  newSubfolder(): DeclaredFolder {
    const next = () => `${this.root.url}${++this.#subfolders}`
    let url = next()
    return {
      root: this.root,
      get url() {
        return url
      },
      renew: () => {
        url = next()
      },
    }
  }
}

/** The subfolder of a {@link LanceFolder} that one fake uses until its next restore. */
export interface DeclaredFolder {
  readonly root: LanceFolder['root']
  readonly url: string
  /** Switches to a new subfolder. */
  renew(): void
}
