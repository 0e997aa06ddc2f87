/** The folder of a fake for tables of formats that other protocols serve. */
export interface FolderForFormats {
  isThere(): boolean
  /** Gives the fake an empty folder. `remove` is called when the fake closes. */
  use(folder: string, remove: () => Promise<void>): Promise<void>
}

/** The folders of fakes, by their handles. */
export const foldersForFormats = new WeakMap<object, FolderForFormats>()
