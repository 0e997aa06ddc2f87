import type { Content } from '../../base/content/content.ts'
import { keys, type LeavingRecord, type TablePointer, type VersionRecord } from '../../base/store/records.ts'
import type { Reader } from '../../base/store/store.ts'
import type { ManifestRef } from '../../engine/table/index.ts'
import { nameOf } from '../locations/lance-files.ts'
import { contentFolderOf, locationOf } from '../locations/locations.ts'
import { type FoundTable, keptTableById, readTable } from '../lookup/names.ts'
import { manifestOf } from '../rows/rows.ts'
import type { MaintenanceContext } from './context.ts'
import { pointersOf, pointsAtFile } from './own-files.ts'

/** Whether a table still has all the versions it had. */
export function isAsItWas(
  core: MaintenanceContext,
  internalId: string,
  versions: readonly ManifestRef[],
): Promise<boolean> {
  return core.store.read((reader) => {
    const there = [...versionsOf(reader, internalId), ...leavingOf(reader, internalId)]
    const now = new Set(there.map(({ manifest_path }) => manifest_path))
    return keptTableById(reader, internalId) !== undefined && versions.every(({ path }) => now.has(path))
  })
}

function versionsOf(reader: Reader, internalId: string): VersionRecord[] {
  return Array.from(
    reader.range<VersionRecord>({ prefix: keys.allVersions(internalId) }),
    ({ value }) => value,
  )
}

/** The versions that retention removed, and whose files still stay. */
function leavingOf(reader: Reader, internalId: string): LeavingRecord[] {
  return Array.from(reader.range<LeavingRecord>({ prefix: keys.leavingOf(internalId) }), ({ value }) => value)
}

interface TableContent {
  readonly prefix: string
  /** The manifests of all versions; undefined when another engine wrote the versions, or may do so. */
  readonly versions: readonly ManifestRef[] | undefined
  /** The names of manifests that writers of Lance staged, and that were recorded. */
  readonly stagedNames: readonly string[]
}

const tablesAtATime = 1_000

interface TableFolder {
  readonly internalId: string
  /** Undefined when the table lies outside of the content. */
  readonly folder: TableContent | undefined
  /** The URLs of the files that versions point at; undefined when they were not read. */
  readonly pointers: readonly string[] | undefined
}

/**
 * All tables, with what they have in this content, in batches, so that a large catalog stays responsive. Versions that
 * retention removed later than `leftSince` count.
 */
export async function* allFolders(
  core: MaintenanceContext,
  content: Content,
  leftSince: number,
): AsyncGenerator<TableFolder> {
  let after: string | undefined
  do {
    const chunk = await core.store.read((reader) => {
      const range = {
        prefix: keys.tablePointers,
        limit: tablesAtATime,
        ...(after === undefined ? {} : { start: [...keys.tablePointer(after), 0] }),
      }
      return Array.from(reader.range<TablePointer>(range), ({ key, value: [parent, name] }) => {
        const internalId = String(key[1])
        const { record } = readTable(reader, parent, name)!
        return folderOf(core, content, reader, { id: internalId, record }, leftSince)
      })
    })
    yield* chunk
    after = chunk.length === tablesAtATime ? chunk.at(-1)!.internalId : undefined
  } while (after !== undefined)
}

function folderOf(
  core: MaintenanceContext,
  content: Content,
  reader: Reader,
  { id: internalId, record }: FoundTable,
  leftSince: number,
): TableFolder {
  const at = contentFolderOf(core.contentRoots, locationOf(core.contentRoots, internalId, record))
  const isInside = at?.content === content
  if (!isInside && !pointsAtFile(reader, internalId, record))
    return { internalId, folder: undefined, pointers: undefined }
  const versions = versionsOf(reader, internalId)
  const pointers = pointersOf(versions)
  if (!isInside) return { internalId, folder: undefined, pointers }
  const fromOwnEngine = versions.length > 0 && versions.every((version) => version.rows !== undefined)
  const leaving = fromOwnEngine ? leavingOf(reader, internalId).filter(({ at }) => at > leftSince) : []
  const folder = {
    prefix: at.prefix,
    versions: fromOwnEngine ? [...versions, ...leaving].map(manifestOf) : undefined,
    stagedNames: versions.flatMap(({ staging_path }) =>
      staging_path === undefined ? [] : nameOf(staging_path),
    ),
  }
  return { internalId, folder, pointers }
}
