import type { Content, ListedObject } from '../../base/content/content.ts'
import { prefetch } from '../../base/scheduling/prefetch.ts'
import { keys, type TableRecord, type VersionRecord } from '../../base/store/records.ts'
import type { Reader } from '../../base/store/store.ts'
import { type ContentFolder, folderName, tablesFolder } from '../locations/locations.ts'
import { transactionMarkIn } from '../locations/own-objects.ts'
import { isPointer, objectAt } from '../locations/pointers.ts'
import type { MaintenanceContext } from './context.ts'
import { type KnownTable, tablesWhere } from './tables.ts'

/*
 * Files that this catalog wrote for the versions of other formats, such as metadata files of Iceberg, below the locations
 * of their tables. A vacuum lists most of them with all that lies in the catalog's own folder; this is about the others.
 */

/** A file that a vacuum may remove, and whose it was. */
export interface FoundFile {
  readonly internalId: string
  readonly content: Content
  readonly object: ListedObject
}

/** Folders that are listed at the same time. */
const depth = 8

/** The files of own names that are old enough, below locations outside of the folder where the catalog chooses them. */
export async function filesElsewhere(
  core: MaintenanceContext,
  isOld: (modified: number) => boolean,
  { signal, onFile }: { readonly signal: AbortSignal | undefined; readonly onFile: () => void },
): Promise<FoundFile[]> {
  const found: FoundFile[] = []
  const list = async ({ internalId, content, prefix }: ContentFolder & { readonly internalId: string }) => {
    for await (const object of content.list(prefix)) {
      signal?.throwIfAborted()
      onFile()
      // An unfinished file is named for the one that it becomes.
      const path = object.becomes ?? object.path
      if (isOld(object.modified) && transactionMarkIn(core, path) !== undefined)
        found.push({ internalId, content, object })
    }
  }
  for await (const _ of prefetch(foldersElsewhere(core), list, { depth })) signal?.throwIfAborted()
  return found
}

/** The folders with files of versions, within the locations of their tables. */
async function* foldersElsewhere(core: MaintenanceContext) {
  for await (const table of tablesWhere(core, pointsAtFile)) {
    const { internalId, folder } = table
    if (folder === undefined || isChosen(core, folder)) continue
    for (const prefix of foldersOf(core, table, folder)) yield { internalId, content: folder.content, prefix }
  }
}

/** Whether the latest version points at a file. */
export function pointsAtFile(reader: Reader, internalId: string, { main }: TableRecord): boolean {
  if (main.latest === null) return false
  const latest = reader.get<VersionRecord>(keys.version(internalId, '', main.latest))
  return latest !== undefined && isPointer(latest.manifest_path)
}

function isChosen({ contentRoots }: MaintenanceContext, { content, prefix }: ContentFolder): boolean {
  return content === contentRoots[0]!.content && prefix.startsWith(`${tablesFolder}/`)
}

function foldersOf(core: MaintenanceContext, { versions }: KnownTable, own: ContentFolder): Set<string> {
  const folders = new Set<string>()
  for (const { record } of versions) {
    const object = objectAt(core, record.manifest_path)
    if (object?.content !== own.content || !object.path.startsWith(own.prefix)) continue
    folders.add(object.path.slice(0, object.path.lastIndexOf('/') + 1))
  }
  // One folder within another is listed with it.
  return new Set(
    [...folders].filter((one) => ![...folders].some((two) => one !== two && one.startsWith(two))),
  )
}

/** The files that versions of tables point at, as they are read table by table, and which tables were there. */
export class PointedFiles {
  readonly #core: MaintenanceContext
  readonly #named = new Set<string>()
  readonly #tables = new Set<string>()

  constructor(core: MaintenanceContext) {
    this.#core = core
  }

  note(internalId: string, urls: readonly string[]): void {
    this.#tables.add(internalId)
    for (const url of urls) {
      const object = objectAt(this.#core, url)
      if (object !== undefined) this.#named.add(this.#nameOf(object.content, object.path))
    }
  }

  has(content: Content, path: string): boolean {
    return this.#named.has(this.#nameOf(content, path))
  }

  /** Whether a file may go: a table that is not there any more may have been deregistered, with its versions. */
  isLeft({ internalId, content, object }: FoundFile): boolean {
    return this.#tables.has(internalId) && !this.has(content, object.path)
  }

  #nameOf(content: Content, path: string): string {
    return folderName(this.#core.contentRoots, { content, prefix: path })
  }
}

/** The URLs of the files that versions point at. */
export function pointersOf(versions: readonly VersionRecord[]): string[] {
  return versions.map(({ manifest_path }) => manifest_path).filter(isPointer)
}
