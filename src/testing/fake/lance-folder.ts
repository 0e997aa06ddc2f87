import { opendir } from 'node:fs/promises'
import { invalid } from '../../base/errors.ts'
import type { Core } from '../../catalog/handle/core.ts'
import { folderRoot } from '../../tabularium/content-root.ts'

/** The folder of a fake, and its forks, in which declared tables lie: Lance's clients write them by themselves. */
export class LanceFolder {
  readonly root: Core['contentRoots'][number]
  #places = 0

  private constructor(root: Core['contentRoots'][number]) {
    this.root = root
  }

  /** Opens a folder, which must be empty: the ids of a fake repeat, and so would the locations of tables. */
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

  /** Where tables are declared that nobody wrote yet. What Lance wrote before stays, in another place. */
  place(): DeclaredPlace {
    const next = () => `${this.root.url}${++this.#places}`
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

/** A folder below the one of {@link LanceFolder} that one fake has for itself until it goes back in time. */
export interface DeclaredPlace {
  readonly root: LanceFolder['root']
  readonly url: string
  /** Begins a new folder. */
  renew(): void
}
