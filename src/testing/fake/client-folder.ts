import { opendir } from 'node:fs/promises'
import { invalid } from '../../base/errors.ts'
import type { ContentRoot } from '../../catalog/index.ts'
import { folderRoot } from '../../tabularium/content-root.ts'

/** A folder of a fake and its forks for tables that clients of other engines write directly. */
export class ClientFolder {
  readonly root: ContentRoot
  #subfolders = 0

  private constructor(root: ContentRoot) {
    this.root = root
  }

  /** Opens an empty folder, which the option `name` names. Files of an earlier run would collide: ids of a fake repeat. */
  static async open(name: string, folder: string): Promise<ClientFolder> {
    const root = await folderRoot(name, folder)
    for await (const found of await opendir(folder)) {
      throw invalid(
        `${name}: ${JSON.stringify(folder)} holds ${JSON.stringify(found.name)}. Give an empty folder: tables of an earlier run would be in the way.`,
      )
    }
    return new ClientFolder(root)
  }

  /** A new subfolder for tables. Files that clients wrote earlier stay in other subfolders. */
  newSubfolder(): Subfolder {
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

/** The subfolder of a {@link ClientFolder} that one fake uses until its next restore. */
export interface Subfolder {
  readonly root: ClientFolder['root']
  readonly url: string
  /** Switches to a new subfolder. */
  renew(): void
}
