import { isInline } from '../../../base/content/path.ts'
import { hasInline } from '../../locations/inline-objects.ts'
import { type ContentFolder, folderName, offsiteFolder } from '../../locations/locations.ts'
import { deregisteredFolders } from '../../locations/registration.ts'
import { foldersOfUnknownClones } from '../../locations/shared-content.ts'
import { manifestOf } from '../../rows/rows.ts'
import type { MaintenanceContext } from '../context.ts'
import { allTables, type KnownTable } from '../tables.ts'
import type { FileToCopy } from './copy-files.ts'

/**
 * All files below the catalog's own root that a backup copies: files that versions refer to, files of other engines at
 * the locations of tables, and the content of deregistered tables. A file that clones share may appear several times.
 * `onTable` is called for every table, even when its content lies elsewhere.
 */
export async function* copiedPaths(
  core: MaintenanceContext,
  onTable: (table: KnownTable, isInside: boolean) => void,
): AsyncGenerator<FileToCopy> {
  const { content } = core.contentRoots[0]!
  const walked = new Set<string>()
  for await (const table of allTables(core)) {
    const isInside = table.folder?.content === content
    onTable(table, isInside)
    if (isInside) yield* pathsOfTable(core, table, table.folder!)
    if (isInside && table.fromOwnEngine) walked.add(folderName(core.contentRoots, table.folder!))
  }
  for (const prefix of await foldersOfUnknownClones(core, { content }, walked))
    yield* everythingBelow(core, prefix)
  for (const prefix of await deregisteredFolders(core)) yield* everythingBelow(core, prefix)
  yield* everythingBelow(core, `${offsiteFolder}/`)
}

async function* pathsOfTable(
  core: MaintenanceContext,
  table: KnownTable,
  { content, prefix }: ContentFolder,
): AsyncGenerator<FileToCopy> {
  const { isEngineObject, isIndexObject } = await import('../../../engine/table/storage/objects.ts')
  const seen = new Set<string>()
  if (table.fromOwnEngine) {
    const engine = await core.engine(content)
    const refs = table.versions.map(({ record }) => manifestOf(record))
    for await (const path of engine.reachable(prefix, refs)) {
      if (seen.has(path)) continue
      seen.add(path)
      // Without a file of indexes, rows are scanned.
      const needed = !isIndexObject(path) && !(isInline(path) && (await hasInline(core.store, path)))
      yield { path, needed, linkable: true }
    }
  }
  for await (const { path } of content.list(prefix)) {
    if (seen.has(path) || (table.fromOwnEngine && isEngineObject(path.slice(prefix.length)))) continue
    yield { path, needed: false, linkable: false }
  }
}

async function* everythingBelow(core: MaintenanceContext, prefix: string): AsyncGenerator<FileToCopy> {
  for await (const { path } of core.contentRoots[0]!.content.list(prefix)) {
    yield { path, needed: false, linkable: false }
  }
}
