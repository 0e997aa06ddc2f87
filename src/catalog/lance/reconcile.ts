import type { Identifier } from '../../base/model/identifier.ts'
import { keys, type VersionRecord } from '../../base/store/records.ts'
import type { Reader } from '../../base/store/store.ts'
import { hasManifests } from '../locations/declared-only.ts'
import {
  finalNameOf,
  nameOf,
  versionOfName,
  versionsFolderOf,
  waitingAt,
  waitingFolder,
} from '../locations/lance-files.ts'
import { holdsObjects } from '../locations/locations.ts'
import { type FoundTable, lookUpTable, tableById } from '../lookup/names.ts'
import { commit, noteFoundSubject, unchanged } from '../transactions/commit.ts'
import { applyDifferences, type Differences, readManifests } from './adopt.ts'
import type { LanceContext, LanceStaging } from './context.ts'
import {
  type DatasetFolder,
  datasetFolderOf,
  isOurs,
  isThere,
  isWaiting,
  manifestPathOf,
  type TableAt,
} from './dataset.ts'

/*
 * The records and the manifests of a branch are reconciled before its versions are reported or changed:
 * - A version that was recorded, but not published because the process died, is published.
 * - A version that another program published without asking the catalog gets a record: it is adopted.
 * - A version whose manifest is gone, after Lance's cleanup, loses its record.
 * Without manifests, the records alone count.
 *
 * Inside of a transaction over many operations, this changes the records outside, since manifests are visible to all.
 */

type Find = (reader: Reader) => FoundTable | undefined

/**
 * Reconciles the records of a branch with its manifests, if the table is Lance's and within reach. `notOurs` are versions
 * whose manifests are known to be those of other programs. Resolves with the newest version that was looked at: a later
 * one was recorded meanwhile, and its manifest may not be there yet. Undefined where nothing was looked at.
 */
export async function reconcile(
  core: LanceContext,
  id: Identifier,
  branch: string,
  find: Find = (reader) => lookUpTable(reader, id),
  notOurs: ReadonlySet<number> = new Set(),
): Promise<number | undefined> {
  const wanted = { id, branch, find, notOurs }
  if (core.staging) return reconcileInside(core, core.staging, wanted)
  return reconcileHere(core, wanted)
}

interface Wanted {
  readonly id: Identifier
  readonly branch: string
  readonly find: Find
  readonly notOurs: ReadonlySet<number>
}

async function reconcileInside(
  core: LanceContext,
  { outside }: LanceStaging,
  wanted: Wanted,
): Promise<number | undefined> {
  const table = await core.store.read((reader) => {
    const found = wanted.find(reader)
    return found && !isOurs(reader, found) ? found : undefined
  })
  if (table === undefined) return undefined
  const find: Find = (reader) => tableById(reader, table.id)
  // A table that the transaction creates has records inside only.
  const isOutside = (await outside.store.read(find)) !== undefined
  return reconcileHere(isOutside ? outside : core, { ...wanted, find })
}

async function reconcileHere(
  core: LanceContext,
  { id, branch, find, notOurs }: Wanted,
): Promise<number | undefined> {
  // Records are read before files. So a file that is missing was removed: it cannot have been published later.
  const found = await core.store.read((reader) => readBranch(core, reader, find, branch))
  if (found === undefined) return undefined
  const manifests = await listManifests(found)
  // Records are reported as they are, but for what is not published, until a process that may write reconciles them.
  if (core.settings.readOnly) return greatest(manifests.published)
  const plan = await core.store.read((reader) => makePlan(core, reader, found, manifests, notOurs))
  const differences = await carryOut(found, plan)
  if (plan.newest && !differences?.gone.has(plan.newest.version))
    confirm(core, found.table, branch, plan.newest.version)
  if (differences === undefined) return found.newest ?? 0
  await commit(core, 'AdoptTableVersions', id, (change) => {
    const table = tableById(change.writer, found.table.id)
    if (table === undefined) return unchanged({})
    noteFoundSubject(change, table, found.table)
    return applyDifferences(change, table, branch, differences) ? {} : unchanged({})
  })
  // Not before: a process that still finds the record of such a manifest, and its final name, would take it for
  // published.
  await Promise.all(differences.lost.map((path) => removeStaged(found.folder, path)))
  return newestAfter(found, differences)
}

function newestAfter({ recorded }: Branch, { gone, adopted }: Differences): number {
  const left = [...recorded].filter((version) => !gone.has(version))
  return greatest([...left, ...adopted.keys()]) ?? 0
}

function greatest(versions: Iterable<number>): number | undefined {
  let found: number | undefined
  for (const version of versions) if (found === undefined || version > found) found = version
  return found
}

/** For each branch, the newest version whose record and manifest are known to belong together. */
const confirmed = new WeakMap<LanceContext['store'], Map<string, number>>()
/** Branches beyond these are looked at anew. */
const mostConfirmed = 10_000

/** Notes that the manifest of a version is that of its record. Versions before it were looked at before it was made. */
export function confirm(core: LanceContext, { id }: TableAt, branch: string, version: number): void {
  const known = confirmed.get(core.store) ?? new Map<string, number>()
  confirmed.set(core.store, known)
  const key = JSON.stringify([id, branch])
  known.delete(key)
  known.set(key, version)
  if (known.size > mostConfirmed) known.delete(known.keys().next().value!)
}

function isConfirmed(core: LanceContext, { id }: TableAt, branch: string, version: number): boolean {
  return confirmed.get(core.store)?.get(JSON.stringify([id, branch])) === version
}

/** A branch according to its records. */
interface Branch {
  readonly table: FoundTable
  readonly folder: DatasetFolder
  readonly branch: string
  readonly recorded: ReadonlySet<number>
  /** The last one of these. */
  readonly newest: number | undefined
}

/** The recorded versions of a branch. Undefined when our own engine wrote the rows, or they are out of reach. */
function readBranch(core: LanceContext, reader: Reader, find: Find, branch: string): Branch | undefined {
  const table = find(reader)
  if (table === undefined || isOurs(reader, table)) return undefined
  const folder = datasetFolderOf(core, table)
  if (folder === undefined) return undefined
  const found = reader.range({ prefix: keys.versions(table.id, branch), keysOnly: true })
  const versions = Array.from(found, ({ key }) => Number(key[3]))
  return { table, folder, branch, recorded: new Set(versions), newest: versions.at(-1) }
}

/** The files of a branch's folder of manifests. */
interface Manifests {
  readonly published: ReadonlySet<number>
  /** Manifests that were given to the catalog to be published. */
  readonly staged: readonly StagedFile[]
  /**
   * Which records may lose theirs, since a missing manifest was removed: otherwise it may never have existed, or the disk
   * is absent. The only one that was staged had existed, where the disk with the other files is there: its writer removed
   * it.
   */
  readonly canMiss: 'all' | 'staged' | 'none'
}

interface StagedFile {
  /** As the writer named it, beside its final name. */
  readonly name: string
  /** Where it lies, within the folder of the dataset. */
  readonly path: string
}

async function listManifests({ folder, branch, recorded }: Branch): Promise<Manifests> {
  const inFolder = versionsFolderOf(branch)
  const [names, staged] = await Promise.all([
    folder.shared.names(folder.prefix + inFolder),
    listWaiting(folder),
  ])
  const published = new Set<number>()
  for (const name of names) {
    const version = versionOfName(name)
    if (version !== undefined) published.add(version)
    else if (finalNameOf(name) !== undefined) staged.push({ name, path: inFolder + name })
  }
  const hasOthers =
    published.size > 0 || (branch !== '' && (await hasManifests(folder.shared, folder.prefix)))
  if (hasOthers) return { published, staged, canMiss: 'all' }
  return {
    published,
    staged,
    canMiss: recorded.size === 1 && (await holdsObjects(folder)) ? 'staged' : 'none',
  }
}

/** Manifests of transactions over many operations, whether under way, rolled back or committed. */
async function listWaiting({ content, prefix }: DatasetFolder): Promise<StagedFile[]> {
  const found: StagedFile[] = []
  for await (const { path } of content.list(prefix + waitingFolder)) {
    const waiting = waitingAt(path)
    if (waiting) found.push({ name: waiting.stagedName, path: path.slice(prefix.length) })
  }
  return found
}

interface Pending extends StagedFile {
  readonly version: number
  readonly record: VersionRecord
}

interface Plan {
  /** Versions to publish, in the order of their numbers: a writer must never miss one below another. */
  readonly pending: readonly Pending[]
  /** Versions without a manifest. */
  readonly missing: ReadonlyMap<number, VersionRecord>
  /** Versions without a record. */
  readonly unknown: ReadonlySet<number>
  /**
   * The newest recorded version, if nobody has compared its manifest with its record. Its process may have died before the
   * publication, its writer may have removed the staged manifest, and another program may have taken the number.
   */
  readonly newest: { readonly version: number; readonly record: VersionRecord } | undefined
  /** Versions whose manifests are those of other programs. */
  readonly notOurs: ReadonlyMap<number, VersionRecord>
}

function makePlan(
  core: LanceContext,
  reader: Reader,
  { table, folder, branch, recorded, newest: version }: Branch,
  { published, staged, canMiss }: Manifests,
  others: ReadonlySet<number>,
): Plan {
  const recordOf = (version: number) => reader.get<VersionRecord>(keys.version(table.id, branch, version))
  const pending = staged.flatMap(({ name, path }) => {
    const version = versionOfName(finalNameOf(name)!)
    const record = version === undefined ? undefined : recordOf(version)
    const isRecorded = record?.staging_path !== undefined && nameOf(record.staging_path) === name
    return isRecorded && !isWaiting(core, record) ? [{ version: version!, name, path, record }] : []
  })
  pending.sort((a, b) => a.version - b.version)
  const missing = new Map<number, VersionRecord>()
  if (canMiss !== 'none') {
    const isPending = new Set(pending.map(({ version }) => version))
    const inFolder = folder.objectPath + versionsFolderOf(branch)
    for (const version of recorded) {
      if (published.has(version) || isPending.has(version)) continue
      const record = recordOf(version)
      if (!record?.manifest_path.startsWith(inFolder) || isWaiting(core, record)) continue
      if (canMiss === 'all' || record.staging_path !== undefined) missing.set(version, record)
    }
  }
  const unknown = new Set<number>()
  for (const version of published) {
    // A version that was recorded since the first read is not another program's.
    if (!recorded.has(version) && recordOf(version) === undefined) unknown.add(version)
  }
  const isSettled = (version: number) =>
    published.has(version) && recorded.has(version) && !pending.some((one) => one.version === version)
  const notOurs = new Map<number, VersionRecord>()
  for (const version of others) {
    const record = isSettled(version) ? recordOf(version) : undefined
    if (record) notOurs.set(version, record)
  }
  const isNew = version !== undefined && isSettled(version) && !isConfirmed(core, table, branch, version)
  const record = isNew ? recordOf(version) : undefined
  return { pending, missing, unknown, newest: record && { version: version!, record }, notOurs }
}

interface Outcome extends Differences {
  /** Staged manifests that will never be published. */
  readonly lost: readonly string[]
}

/** Publishes what waits for it. Returns how records differ from manifests after that, if they do. */
async function carryOut(
  { folder, branch }: Branch,
  { pending, missing, unknown, newest, notOurs }: Plan,
): Promise<Outcome | undefined> {
  const lost: string[] = []
  const gone = new Map<number, string>()
  const toAdopt = new Set(unknown)
  let isBroken = false
  for (const { version, name, path, record } of pending) {
    // What was written on top of a version that was lost is lost with it.
    const result = isBroken ? 'refused' : await publish(folder, branch, { name, path })
    if (result === 'published') continue
    isBroken = true
    if (result !== 'missing') lost.push(path)
    gone.set(version, record.transaction_id)
    if (result === 'taken') toAdopt.add(version)
  }
  for (const [version, record] of missing) {
    const path = manifestPathOf(folder, branch, record.manifest_path)
    // A manifest that was published during the listing may be in neither list.
    if (!(await isThere(folder.content, path))) gone.set(version, record.transaction_id)
  }
  const others = new Map(notOurs)
  if (newest && !(await hasRecordedSize(folder, branch, newest.record)))
    others.set(newest.version, newest.record)
  for (const [version, record] of others) {
    gone.set(version, record.transaction_id)
    toAdopt.add(version)
  }
  if (gone.size === 0 && toAdopt.size === 0) return undefined
  return { gone, adopted: await readManifests(folder, branch, toAdopt), lost }
}

/** Whether a manifest has as many bytes as its record says. What was not staged has no size of ours. */
async function hasRecordedSize(
  folder: DatasetFolder,
  branch: string,
  { staging_path, manifest_path, manifest_size }: VersionRecord,
): Promise<boolean> {
  if (staging_path === undefined || !manifest_size) return true
  const path = manifestPathOf(folder, branch, manifest_path)
  const found = await folder.content.get(path, { start: manifest_size - 1, end: manifest_size + 1 })
  return found === undefined || found.length === 1
}

/** Gives a manifest its final name, unless it is gone, or another program's manifest has that name. */
async function publish(
  folder: DatasetFolder,
  branch: string,
  { name, path }: StagedFile,
): Promise<'published' | 'taken' | 'missing'> {
  const { content, shared, prefix } = folder
  const staging = prefix + path
  const final = prefix + versionsFolderOf(branch) + finalNameOf(name)!
  const result = await shared.link(staging, final)
  if (result === 'missing') {
    // Another process published it and removed the staged name.
    return (await isThere(content, final)) ? 'published' : 'missing'
  }
  let isOurs = true
  if (result === 'taken') {
    const [ours, theirs] = await Promise.all([content.get(staging), content.get(final)])
    // Another process published it, and perhaps died before it removed the staged name.
    isOurs = ours === undefined || (theirs !== undefined && Buffer.compare(ours, theirs) === 0)
  }
  if (!isOurs) return 'taken'
  await removeStaged(folder, path)
  return 'published'
}

/** Removes a manifest from where it was staged, with the folder that was made for it alone. */
async function removeStaged({ content, prefix }: DatasetFolder, path: string): Promise<void> {
  const isAlone = path.startsWith(waitingFolder)
  await content.remove(prefix + (isAlone ? path.slice(0, path.lastIndexOf('/') + 1) : path))
}
