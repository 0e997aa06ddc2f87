import { CatalogError } from '../../base/errors.ts'
import { formatIdentifier, type Identifier } from '../../base/model/identifier.ts'
import type { Reader } from '../../base/store/store.ts'
import { isOurs } from '../lance/dataset.ts'
import { reconcileWanted } from '../lance/tags.ts'
import { seeFiles } from '../lance/unchanged-files.ts'
import { hasForeignRows } from '../locations/declared-only.ts'
import { type FoundTable, findTable } from '../lookup/names.ts'
import {
  type FoundVersion,
  findVersion,
  headOf,
  onBranch,
  type WantedVersion,
  wantedVersion,
} from '../lookup/versions.ts'
import type { AnyRowsContext } from './context.ts'
import { isOfLance, lanceRows } from './lance-rows.ts'
import { ownRows } from './own-rows.ts'
import { findPublished } from './published.ts'
import {
  declaredOnly,
  foreign,
  manifestOf,
  requireContentFolder,
  requireOurs,
  retryIfReplaced,
} from './rows.ts'
import type { VersionRows } from './version-rows.ts'

interface Found {
  readonly table: FoundTable
  /** Undefined for a table without any version. */
  readonly found: FoundVersion | undefined
}

/**
 * Reads rows of one version by the engine that wrote them. If the table is replaced meanwhile, the operation starts
 * again with the one that now has the name.
 */
export async function readTable<T>(
  core: AnyRowsContext,
  id: Identifier,
  wanted: WantedVersion,
  read: (rows: VersionRows) => Promise<T>,
): Promise<T> {
  const { table, found } = await findRows(core, id, wanted)
  const rows = rowsOf(core, id, table, found)
  return retryIfReplaced(core, id, table, () => read(rows))
}

/** The rows of a version that was found, whoever wrote them. Refuses those of engines that are not here. */
export function rowsOf(
  core: AnyRowsContext,
  id: Identifier,
  table: FoundTable,
  found: FoundVersion,
): VersionRows {
  const { record } = found
  if (isOfLance(record)) {
    requireContentFolder(core, id, table)
    return lanceRows(core, id, table, found)
  }
  requireOurs(id, found)
  return ownRows(record, async () => {
    const folder = requireContentFolder(core, id, table)
    const engine = await core.engine(folder.content)
    return { engine, snapshot: await engine.open(folder.prefix, manifestOf(record)) }
  })
}

/** A version that Lance wrote, and its table. Undefined where another engine wrote it. */
export async function findOfLance(
  core: AnyRowsContext,
  id: Identifier,
  wanted: WantedVersion,
): Promise<{ readonly table: FoundTable; readonly found: FoundVersion } | undefined> {
  const { table, found } = await findRows(core, id, wanted)
  return isOfLance(found.record) ? { table, found } : undefined
}

/** A version, and its table. Versions that Lance published past the catalog are found, too. */
export async function findRows(
  core: AnyRowsContext,
  id: Identifier,
  wanted: WantedVersion,
): Promise<Found & { readonly found: FoundVersion }> {
  const { isCertain, ...first } = await core.store.read((reader) => findFirst(reader, id, wanted, core.now()))
  if (isCertain && first.found) return { table: first.table, found: first.found }
  const files = first.found && wanted.tag == null ? await seeFiles(core, first.table, first.found) : undefined
  if (files?.isKnown && first.found) return { table: first.table, found: first.found }
  const { resolved } = await reconcileWanted(core, id, wanted)
  const { table, found, state } = await findPublished(core, id, resolved.branch, (reader) =>
    find(reader, id, resolved, core.now()),
  )
  if (found) {
    if (state !== 'whole' && isOfLance(found.record)) {
      requireContentFolder(core, id, table)
      throw brokenManifest(id, found, state)
    }
    if (found.record.manifest_path === first.found?.record.manifest_path) files?.remember()
    return { table, found }
  }
  throw table.record.registered || (await hasForeignRows(core, table)) ? foreign(id) : declaredOnly(id)
}

/** As {@link find}. The answer is certain for our own tables, whose versions the catalog makes itself. */
function findFirst(
  reader: Reader,
  id: Identifier,
  wanted: WantedVersion,
  now: number,
): Found & { readonly isCertain: boolean } {
  try {
    const { table, found } = find(reader, id, wanted, now)
    return { table, found, isCertain: found?.record.rows !== undefined }
  } catch (error) {
    const table = findTable(reader, id)
    const mayBeLances =
      error instanceof CatalogError && error.code !== 'InvalidInput' && !isOurs(reader, table)
    if (!mayBeLances) throw error
    return { table, found: undefined, isCertain: false }
  }
}

function find(reader: Reader, id: Identifier, wanted: WantedVersion, now: number): Found {
  const table = findTable(reader, id)
  const { branch, version } = wantedVersion(reader, id, table, wanted, now)
  const isEmpty = version === undefined && headOf(reader, id, table, branch).latest === null
  return { table, found: isEmpty ? undefined : findVersion(reader, id, table, branch, version) }
}

function brokenManifest(
  id: Identifier,
  { branch, version, record }: FoundVersion,
  state: 'damaged' | 'missing',
): CatalogError {
  return new CatalogError(
    'InvalidTableState',
    `The manifest of version ${version} of ${formatIdentifier(id)}${onBranch(branch)} is ${state} (${record.manifest_path}), so the location holds no dataset of Lance, or half of one. Bring its files back, or read another version.`,
  )
}
