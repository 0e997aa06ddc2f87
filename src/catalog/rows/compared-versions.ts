import { formatIdentifier, type Identifier } from '../../base/model/identifier.ts'
import type { Reader } from '../../base/store/store.ts'
import type { ChangesOptions } from '../../engine/table/index.ts'
import { isOurs } from '../lance/dataset.ts'
import { wantedByRef } from '../lance/tags.ts'
import { type FoundTable, findTable } from '../lookup/names.ts'
import { noSuchName, wantedByItself, wantedByName } from '../lookup/version-name.ts'
import { type FoundVersion, findWanted, onBranch } from '../lookup/versions.ts'
import { TargetReplaced } from '../transactions/retry.ts'
import type { AnyRowsContext } from './context.ts'
import { toCompare } from './lance-read.ts'
import { isOfLance } from './lance-rows.ts'
import { findRows } from './read.ts'
import { manifestOf, NotOurs, requireContentFolder, requireOurs, retryIfReplaced } from './rows.ts'

/** How two versions are named. */
export interface NamesOfVersions {
  readonly from: number | string
  readonly to: number | string
}

/** Two versions of a table. */
export interface ComparedVersions {
  readonly from: FoundVersion
  readonly to: FoundVersion
  /** The rows that differ, as an Arrow IPC file; in parts, if `inParts` and there are many. */
  changes(options: ChangesOptions, inParts: boolean): Promise<Uint8Array | AsyncIterable<Uint8Array>>
}

/** Finds two versions by their names, and opens them by the engine that wrote their rows. */
export async function openVersions(
  core: AnyRowsContext,
  id: Identifier,
  names: NamesOfVersions,
): Promise<ComparedVersions> {
  // Our own versions are found in one read, so that both are of one table.
  const { table, from, to } =
    (await core.store.read((reader) => findOwn(core, reader, id, names))) ?? (await findAny(core, id, names))
  requireSameEngine(id, from, to)
  const change = isOfLance(to.record) ? lanceChanges : ownChanges
  return {
    from,
    to,
    changes: (options, inParts) =>
      retryIfReplaced(core, id, table, async () => change(core, id, { table, from, to }, options, inParts)),
  }
}

interface Found {
  readonly table: FoundTable
  readonly from: FoundVersion
  readonly to: FoundVersion
}

/** Both versions of a table of our own. Undefined for another one. */
function findOwn(
  core: AnyRowsContext,
  reader: Reader,
  id: Identifier,
  { from, to }: NamesOfVersions,
): Found | undefined {
  const table = findTable(reader, id)
  if (!isOurs(reader, table)) return undefined
  const find = (name: number | string) =>
    findWanted(reader, id, table, wantedByName(reader, id, table, name), core.now())
  return { table, from: find(from), to: find(to) }
}

/** Both versions of a table that others may write past the catalog. */
async function findAny(core: AnyRowsContext, id: Identifier, { from, to }: NamesOfVersions): Promise<Found> {
  const find = async (name: number | string) => {
    const wanted = wantedByItself(name) ?? (await wantedByRef(core, id, String(name)))
    if (wanted === undefined) throw noSuchName(id, String(name))
    return findRows(core, id, wanted)
  }
  const both = async () => [await find(from), await find(to)] as const
  const [before, after] = await both().catch(async (error: unknown) => {
    // It says what a table lacks that has no version at all.
    await findRows(core, id, { branch: '' })
    throw error
  })
  if (before.table.id !== after.table.id) throw new TargetReplaced(id)
  return { table: after.table, from: before.found, to: after.found }
}

function requireSameEngine(id: Identifier, from: FoundVersion, to: FoundVersion): void {
  for (const found of [from, to]) {
    if (found.record.metadata?.table_type?.startsWith('ICEBERG')) {
      throw new NotOurs(
        `Version ${found.version} of ${formatIdentifier(id)}${onBranch(found.branch)} is Iceberg's, whose rows the catalog does not read. Spark's procedure create_changelog_view tells which rows differ between snapshots; other engines query both snapshots.`,
      )
    }
    if (!isOfLance(found.record)) requireOurs(id, found)
  }
  if (isOfLance(from.record) === isOfLance(to.record)) return
  throw new NotOurs(
    `The versions ${from.version} and ${to.version} of ${formatIdentifier(id)} were written by different engines, so their rows are not compared. Query both.`,
  )
}

async function lanceChanges(
  core: AnyRowsContext,
  id: Identifier,
  { table, from, to }: Found,
  options: ChangesOptions,
  inParts: boolean,
): Promise<Uint8Array | AsyncIterable<Uint8Array>> {
  requireContentFolder(core, id, table)
  const lance = await core.lance()
  return lance.changes(toCompare(core, id, table, from), toCompare(core, id, table, to), options, inParts)
}

async function ownChanges(
  core: AnyRowsContext,
  id: Identifier,
  { table, from, to }: Found,
  options: ChangesOptions,
  inParts: boolean,
): Promise<Uint8Array | AsyncIterable<Uint8Array>> {
  const folder = requireContentFolder(core, id, table)
  const engine = await core.engine(folder.content)
  const before = await engine.open(folder.prefix, manifestOf(from.record))
  const after = await engine.open(folder.prefix, manifestOf(to.record))
  return engine[inParts ? 'streamChanges' : 'queryChanges'](before, after, options)
}
