import type { Identifier } from '../../base/model/identifier.ts'
import { keys, type VersionRecord } from '../../base/store/records.ts'
import type { Reader } from '../../base/store/store.ts'
import { isWaiting, manifestPathOf } from '../lance/dataset.ts'
import { reconcile } from '../lance/reconcile.ts'
import { contentFolderOf, locationOf } from '../locations/locations.ts'
import { type FoundTable, tableById } from '../lookup/names.ts'
import { type FoundVersion, headOf } from '../lookup/versions.ts'
import type { AnyRowsContext } from './context.ts'

/*
 * A version of Lance is recorded first, and its manifest gets its final name right after. In between, Lance would find
 * nothing there. Reconciling publishes such a manifest, or removes a record whose manifest is gone.
 */

/** The last bytes of every manifest. */
const mark = 'LANC'

/** How often a version is looked for whose manifest is not there: others may record one after the other. */
const attempts = 5

/**
 * Whether a manifest is where Lance looks for it, and has the end that manifests have. Lance itself reads many a damaged
 * one as that of a table without rows.
 */
async function manifestState(
  core: AnyRowsContext,
  table: FoundTable,
  { branch, record }: FoundVersion,
): Promise<'whole' | 'damaged' | 'missing'> {
  // One that waits for the commit of a transaction lies elsewhere, and was found there when it was staged.
  if (isWaiting(core, record)) return 'whole'
  const folder = contentFolderOf(core.contentRoots, locationOf(core.contentRoots, table.id, table.record))
  if (folder === undefined) return 'missing'
  const path = manifestPathOf(folder, branch, record.manifest_path)
  const size = record.manifest_size ?? 0
  const range = size < mark.length ? undefined : { start: size - mark.length, end: size }
  const last = await folder.content.get(path, range)
  if (last === undefined) return 'missing'
  return Buffer.from(last).toString('latin1').endsWith(mark) ? 'whole' : 'damaged'
}

/** A version that `find` finds, once its manifest is published; with its state, if that does not happen. */
export async function findPublished<Found extends { table: FoundTable; found: FoundVersion | undefined }>(
  core: AnyRowsContext,
  id: Identifier,
  branch: string,
  find: (reader: Reader) => Found,
): Promise<Found & { readonly state: 'whole' | 'damaged' | 'missing' }> {
  for (let attempt = 1; ; attempt++) {
    const found = await core.store.read(find)
    if (found.found === undefined || found.found.record.rows !== undefined)
      return { ...found, state: 'whole' }
    const state = await manifestState(core, found.table, found.found)
    if (state !== 'missing' || attempt === attempts) return { ...found, state }
    await reconcile(core, id, branch)
  }
}

/** The latest version of a branch whose manifest is published. Undefined where there is none. */
export async function latestPublished(
  core: AnyRowsContext,
  id: Identifier,
  table: FoundTable,
  branch: string,
): Promise<FoundVersion | undefined> {
  const { found } = await findPublished(core, id, branch, (reader) => {
    const now = tableById(reader, table.id) ?? table
    const { latest } = headOf(reader, id, now, branch)
    const record =
      latest === null ? undefined : reader.get<VersionRecord>(keys.version(table.id, branch, latest))
    return { table: now, found: record && { branch, version: latest!, record } }
  })
  return found
}
