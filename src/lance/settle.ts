import type { Core } from '../catalog/core.ts'
import { hasManifests } from '../locations/declared-only.ts'
import { lookUpTable } from '../lookup/names.ts'
import { type FoundTable, tableById } from '../lookup/table-record.ts'
import type { Identifier } from '../model/identifier.ts'
import { keys, type VersionRecord } from '../store/records.ts'
import type { Reader } from '../store/store.ts'
import { commit, unchanged } from '../transactions/commit.ts'
import { applyDifferences, type Differences, readManifests } from './adopt.ts'
import { type DatasetFolder, datasetFolderOf, isOurs } from './dataset.ts'
import { finalNameOf, nameOf, versionOfName, versionsFolderOf } from './names.ts'

/*
 * The records and the manifests of a branch are brought in line before its versions are told or changed:
 * - A version that was recorded, but not published because the process died, is published.
 * - A version that another program published without asking the catalog gets a record: it is adopted.
 * - A version whose manifest is gone, after Lance's cleanup, loses its record.
 * Where a table has no manifests, the records are all there is to know.
 */

type Find = (reader: Reader) => FoundTable | undefined

/** Brings the records of a branch in line with its manifests, if the table is Lance's and within reach. */
export async function settle(
  core: Core,
  id: Identifier,
  branch: string,
  find: Find = (reader) => lookUpTable(reader, id),
): Promise<void> {
  // Records are read before files. So a file that is missing was removed: it cannot have been published later.
  const found = await core.store.read((reader) => readBranch(core, reader, find, branch))
  if (found === undefined) return
  const manifests = await listManifests(found.folder, branch)
  const plan = await core.store.read((reader) => makePlan(reader, found, manifests))
  const differences = await carryOut(found, plan)
  if (differences === undefined) return
  await commit(core, 'AdoptTableVersions', id, (change) => {
    const table = tableById(change.writer, found.table.id)
    if (table === undefined) return unchanged({})
    change.concerns(table.id)
    return applyDifferences(change, table, branch, differences) ? {} : unchanged({})
  })
}

/** A branch as its records tell. */
interface Branch {
  readonly table: FoundTable
  readonly folder: DatasetFolder
  readonly branch: string
  readonly recorded: ReadonlySet<number>
}

/** The recorded versions of a branch. Undefined where rows are our own engine's, or out of reach. */
function readBranch(core: Core, reader: Reader, find: Find, branch: string): Branch | undefined {
  const table = find(reader)
  if (table === undefined || isOurs(reader, table)) return undefined
  const folder = datasetFolderOf(core, table)
  if (folder === undefined) return undefined
  const versions = reader.range({ prefix: keys.versions(table.id, branch), keysOnly: true })
  return { table, folder, branch, recorded: new Set(Array.from(versions, ({ key }) => Number(key[3]))) }
}

/** The files of a branch's folder of manifests. */
interface Manifests {
  readonly published: ReadonlySet<number>
  /** The names of manifests that wait for their final name. */
  readonly staged: readonly string[]
  /** Whether a missing manifest was removed. Otherwise it was perhaps never there, or the disk is not. */
  readonly canMiss: boolean
}

async function listManifests(folder: DatasetFolder, branch: string): Promise<Manifests> {
  const names = await folder.shared.names(folder.prefix + versionsFolderOf(branch))
  const published = new Set<number>()
  const staged: string[] = []
  for (const name of names) {
    const version = versionOfName(name)
    if (version !== undefined) published.add(version)
    else if (finalNameOf(name) !== undefined) staged.push(name)
  }
  const canMiss = published.size > 0 || (branch !== '' && (await hasManifests(folder.shared, folder.prefix)))
  return { published, staged, canMiss }
}

interface Plan {
  /** Versions to publish, in the order of their numbers: a writer must never miss one below another. */
  readonly pending: readonly {
    readonly version: number
    readonly name: string
    readonly record: VersionRecord
  }[]
  /** Versions without a manifest. */
  readonly missing: ReadonlyMap<number, VersionRecord>
  /** Versions without a record. */
  readonly unknown: ReadonlySet<number>
}

function makePlan(
  reader: Reader,
  { table, folder, branch, recorded }: Branch,
  { published, staged, canMiss }: Manifests,
): Plan {
  const recordOf = (version: number) => reader.get<VersionRecord>(keys.version(table.id, branch, version))
  const pending = staged.flatMap((name) => {
    const version = versionOfName(finalNameOf(name)!)
    const record = version === undefined ? undefined : recordOf(version)
    const isRecorded = record?.staging_path !== undefined && nameOf(record.staging_path) === name
    return isRecorded ? [{ version: version!, name, record }] : []
  })
  pending.sort((a, b) => a.version - b.version)
  const missing = new Map<number, VersionRecord>()
  if (canMiss) {
    const isPending = new Set(pending.map(({ version }) => version))
    const inFolder = folder.objectPath + versionsFolderOf(branch)
    for (const version of recorded) {
      if (published.has(version) || isPending.has(version)) continue
      const record = recordOf(version)
      if (record?.manifest_path.startsWith(inFolder)) missing.set(version, record)
    }
  }
  const unknown = new Set<number>()
  for (const version of published) {
    // One that was recorded since the first look is no other program's.
    if (!recorded.has(version) && recordOf(version) === undefined) unknown.add(version)
  }
  return { pending, missing, unknown }
}

/** Publishes what waits for it. Returns how records differ from manifests after that, if they do. */
async function carryOut(
  { folder, branch }: Branch,
  { pending, missing, unknown }: Plan,
): Promise<Differences | undefined> {
  const gone = new Map<number, string>()
  const toAdopt = new Set(unknown)
  for (const { version, name, record } of pending) {
    const result = await publish(folder, branch, name)
    if (result === 'published') continue
    gone.set(version, record.transaction_id)
    if (result === 'taken') toAdopt.add(version)
  }
  for (const [version, record] of missing) {
    const path = folder.prefix + versionsFolderOf(branch) + nameOf(record.manifest_path)
    // A manifest that was published during the listing may be in neither list.
    if ((await folder.content.get(path, { start: 0, end: 0 })) === undefined)
      gone.set(version, record.transaction_id)
  }
  if (gone.size === 0 && toAdopt.size === 0) return undefined
  return { gone, adopted: await readManifests(folder, branch, toAdopt) }
}

/** Gives a manifest its final name, unless it is gone, or another program's manifest has that name. */
async function publish(
  { content, shared, prefix }: DatasetFolder,
  branch: string,
  name: string,
): Promise<'published' | 'taken' | 'missing'> {
  const at = prefix + versionsFolderOf(branch)
  const staging = at + name
  const final = at + finalNameOf(name)!
  const result = await shared.link(staging, final)
  if (result === 'missing') {
    // Somebody else published it and removed the staged name.
    return (await content.get(final, { start: 0, end: 0 })) === undefined ? 'missing' : 'published'
  }
  let isOurs = true
  if (result === 'taken') {
    const [ours, theirs] = await Promise.all([content.get(staging), content.get(final)])
    // Somebody else published it, and perhaps died before the staged name was removed.
    isOurs = ours === undefined || (theirs !== undefined && Buffer.compare(ours, theirs) === 0)
  }
  await content.remove(staging)
  return isOurs ? 'published' : 'taken'
}
