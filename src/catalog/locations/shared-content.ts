import { createHash } from 'node:crypto'
import { CatalogError } from '../../base/errors.ts'
import { pathIn } from '../../base/model/relative-path.ts'
import { keys, recordFormat, type ShareRecord, sharingFormat } from '../../base/store/records.ts'
import type { Reader, Writer } from '../../base/store/store.ts'
import { requireFormat } from '../lookup/catalog-format.ts'
import type { LocationContext } from './context.ts'
import { type ContentFolder, type ContentRoot, contentFolderOf, folderName, type Roots } from './locations.ts'

/*
 * A clone may name files that lie in the folders of other tables. A share says so for a folder and a clone. It is
 * written in the store transaction that makes the clone, and removed in the one that drops it. While a folder has a
 * share, its content is never removed as a whole: a drop leaves it to the vacuum, which keeps what a clone names. When a
 * table is deregistered, its shares stay: what they name must be there when it is registered again.
 *
 * A share can only be made while another one, or the table in the folder, keeps the files: a clone is made of a table
 * that is there. So a folder without a table and without shares never gets one again, and may be removed.
 */

/** The folder with a name. */
function folderNamed(roots: readonly ContentRoot[], name: string): ContentFolder {
  const root = roots.slice(1).find(({ url }) => name.startsWith(url))
  return root === undefined
    ? { content: roots[0]!.content, prefix: name }
    : { content: root.content, prefix: name.slice(root.url.length) }
}

/** The folder that a relative path leads to, from that of a clone. */
export function folderIn({ content, prefix }: ContentFolder, path: string): ContentFolder {
  return { content, prefix: pathIn(prefix, path) }
}

/** Notes that a clone names files in some folders. */
export function putShares(
  core: Roots,
  writer: Writer,
  clone: ContentFolder,
  sources: readonly ContentFolder[],
): void {
  if (sources.length === 0) return
  requireFormat(writer, sharingFormat)
  for (const source of sources) {
    const share: ShareRecord = {
      v: recordFormat,
      source: folderName(core.contentRoots, source),
      clone: folderName(core.contentRoots, clone),
    }
    for (const key of keysOf(share)) writer.put(key, share)
  }
}

/** Removes the shares of a dropped table in other folders. */
export function removeSharesOf(core: Roots, writer: Writer, location: string): void {
  const folder = contentFolderOf(core.contentRoots, location)
  if (folder === undefined) return
  const prefix = keys.sharesOfClone(hash(folderName(core.contentRoots, folder)))
  for (const { value } of Array.from(writer.range<ShareRecord>({ prefix })))
    for (const key of keysOf(value)) writer.remove(key)
}

/** Whether clones name files in the folder of a location. */
export function isShared(roots: readonly ContentRoot[], reader: Reader, location: string): boolean {
  const folder = contentFolderOf(roots, location)
  if (folder === undefined) return false
  const prefix = keys.sharesOfSource(hash(folderName(roots, folder)))
  return Array.from(reader.range({ prefix, limit: 1, keysOnly: true })).length > 0
}

/** Whether a clone in a folder may name files in another one. */
export function mayName(core: Roots, reader: Reader, clone: ContentFolder, source: ContentFolder): boolean {
  const [key] = keysOf({
    source: folderName(core.contentRoots, source),
    clone: folderName(core.contentRoots, clone),
  })
  return reader.get(key) !== undefined
}

/** All shares: each names a folder, and a clone whose files may lie there. */
function allShares(reader: Reader): ShareRecord[] {
  return Array.from(reader.range<ShareRecord>({ prefix: keys.sharesBySource }), ({ value }) => value)
}

/**
 * The folders, below a content's root, that must be kept as a whole: clones name files in them, and are not among those
 * whose files are known.
 */
export async function foldersOfUnknownClones(
  core: LocationContext,
  { content }: Pick<ContentFolder, 'content'>,
  known: ReadonlySet<string>,
): Promise<string[]> {
  const shares = await core.store.read(allShares)
  const unknown = shares.filter(({ clone }) => !known.has(clone))
  const folders = unknown.map(({ source }) => folderNamed(core.contentRoots, source))
  return [...new Set(folders.filter((one) => one.content === content).map(({ prefix }) => prefix))]
}

export function keysOf({ source, clone }: Pick<ShareRecord, 'source' | 'clone'>) {
  return [
    keys.shareBySource(hash(source), hash(clone)),
    keys.shareByClone(hash(clone), hash(source)),
  ] as const
}

/** The error for a location that still holds files which clones name, though its own table was dropped. */
export function stillShared(location: string): CatalogError {
  return new CatalogError(
    'TableAlreadyExists',
    `The location ${location} holds files of a dropped table that clones of it still use. Give another location, or drop those clones first.`,
  )
}

/** Keys are short, however long the paths are. */
function hash(name: string): string {
  return createHash('sha256').update(name).digest('hex')
}
