import type { Content, ListedObject } from '../../base/content/content.ts'
import { CatalogError, invalid } from '../../base/errors.ts'
import { prefetch } from '../../base/scheduling/prefetch.ts'
import { keys, type TransactionRecord } from '../../base/store/records.ts'
import { endLapsedBackups, hasBackupLease, onceBackupsEnded } from '../locations/backup-lease.ts'
import { arrivingAt, isStaged, nameOf, waitingAt } from '../locations/lance-files.ts'
import { folderName, tablesFolder } from '../locations/locations.ts'
import { mayBeSince, olderThan } from '../locations/object-age.ts'
import { transactionMark, transactionMarkIn } from '../locations/own-objects.ts'
import { purgeOverdue } from '../locations/purge.ts'
import { deregisteredFolders, registrationFolder } from '../locations/registration.ts'
import { abandonedRemovals, removeContent } from '../locations/removal.ts'
import { foldersOfUnknownClones } from '../locations/shared-content.ts'
import { failLapsed, unfinishedTransactions } from '../transactions/lapsed.ts'
import { hasLapsed, leaseMillis } from '../transactions/transaction-record.ts'
import { vacuumsBegun } from '../transactions/work-record.ts'
import type { MaintenanceContext } from './context.ts'
import { type FoundFile, filesElsewhere, PointedFiles } from './own-files.ts'
import { forgetLeaving, removeOldVersions } from './retain-versions.ts'
import { allFolders, isAsItWas } from './vacuum-tables.ts'

export interface VacuumOptions {
  /** Keeps objects written within this many milliseconds; 0 keeps none for its age. Default: one hour. */
  readonly graceMillis?: number
  /** Only reports what would be removed. */
  readonly dryRun?: boolean
  readonly signal?: AbortSignal
  readonly onProgress?: (report: VacuumReport) => void
}

/** Objects that are removed at once. */
const removedAtOnce = 32

export interface VacuumReport {
  /** Objects examined. */
  readonly examined: number
  /** Objects removed; with `dryRun`, objects that would be removed. */
  readonly removed: number
  /** The size of the removed objects, in bytes. */
  readonly bytes: number
  /**
   * Versions that retention removed, or would remove. Their files go with the first vacuum after the grace period. Absent
   * where the catalog has no rule and no table lost any.
   */
  readonly versions?: number
}

/**
 * Removes the versions that rules of retention let go, and unreachable content below the catalog's own root: objects that
 * no version of their table refers to, and the content of tables that were dropped and are not held any more. These
 * objects stay:
 * - Objects of versions that retention removed within the grace period: somebody may be reading them.
 * - Objects younger than the grace period, as their content dates them.
 * - Objects that work under way wrote, as their names show: a commit may follow.
 * - Objects that a clone names, even if their own table was dropped.
 * - Objects that another engine may have written, but not manifests that a writer of Lance staged and left, nor rows
 *   that arrived for a change which did not end.
 * - Objects outside of all tables that are younger than the oldest open transaction over many operations, or than the
 *   oldest creation of a table: it may have a table there. Those of other engines, while one of the same folder is younger than the grace period: their
 *   table may be recorded once all are written.
 * - Objects outside of the catalog's own root, but not files that this catalog wrote for the versions of a table there.
 */
export async function vacuum(core: MaintenanceContext, options: VacuumOptions = {}): Promise<VacuumReport> {
  const { graceMillis = 3_600_000, dryRun = false, signal, onProgress } = options
  if (!(graceMillis >= 0)) throw invalid('graceMillis must be a number of milliseconds from 0.')
  const versions = await removeOldVersions(core, { dryRun, graceMillis, ...(signal && { signal }) })
  const hasRule = core.settings.retention !== undefined || versions > 0
  if (!dryRun) {
    const now = core.now()
    await forgetLeaving(core, now - graceMillis)
    await purgeOverdue(core)
    await removeContent(core, await core.store.read((reader) => abandonedRemovals(reader, now)))
  }
  const { content } = core.contentRoots[0]!
  const report = { examined: 0, removed: 0, bytes: 0, ...(hasRule && { versions }) }
  // The order matters. Objects are listed first. Then the work under way is read: all that may still refer to one of
  // them. Tables are read last, with every other commit that refers to one. If work were read later, it might commit
  // after the read of the tables, and its record might be cleared.
  const now = core.now()
  const { candidates, young } = await list(content, graceMillis, now, report, signal)
  const elsewhere = await filesElsewhere(core, olderThan(graceMillis, now), {
    signal,
    onFile: () => report.examined++,
  })
  const work = await workUnderWay(core, dryRun)
  const pointed = new PointedFiles(core)
  const needed = await readNeeded(core, content, { pointed, leftSince: now - graceMillis }, signal)
  const isNeeded = await neededTest(core, content, needed, { work, young, pointed })
  const isOfWork = await objectsOf(core, work)
  if (!dryRun) await requireNoBackupLease(core)
  const unneeded = [
    ...candidates.filter((found) => !isNeeded(found)).map((object) => ({ content, object })),
    ...elsewhere.filter((found) => pointed.isLeft(found)),
  ].filter(({ object }) => !isOfWork(object.becomes ?? object.path))
  const remove = async ({ content, object }: Pick<FoundFile, 'content' | 'object'>) => {
    if (!dryRun && !signal?.aborted) await content.remove(object.path)
    return object
  }
  // Each waits for the disk or the network, and the store makes one commit for several small objects.
  for await (const { size } of prefetch(unneeded, remove, { depth: removedAtOnce })) {
    signal?.throwIfAborted()
    report.removed++
    report.bytes += size
    onProgress?.({ ...report })
  }
  return report
}

/** Fails while a backup runs. Must be called after the unreachable objects are known. */
async function requireNoBackupLease(core: MaintenanceContext): Promise<void> {
  if (!(await onceBackupsEnded(core, (reader) => hasBackupLease(reader, core.now())))) return
  throw new CatalogError(
    'ServiceUnavailable',
    'A backup is copying the catalog, and may need content that nothing else refers to. Vacuum when the backup is done.',
  )
}

/** Objects older than the grace period, and the folders of tables that have younger ones of other engines. */
interface Listed {
  readonly candidates: readonly ListedObject[]
  readonly young: ReadonlySet<string>
}

/**
 * Lists the objects that are older than the grace period. A writer of Lance stages a manifest some time before the
 * commit.
 */
async function list(
  content: Content,
  graceMillis: number,
  now: number,
  report: { examined: number },
  signal: AbortSignal | undefined,
): Promise<Listed> {
  const { writerMarkIn } = await import('../../engine/table/storage/objects.ts')
  const candidates: ListedObject[] = []
  const young = new Set<string>()
  const isOld = olderThan(graceMillis, now)
  const isOldStaged = olderThan(Math.max(graceMillis, leaseMillis), now)
  for await (const found of content.list(`${tablesFolder}/`)) {
    signal?.throwIfAborted()
    report.examined++
    const isOfLance = stagedNameOf(found.path) !== undefined || arrivingAt(found.path) !== undefined
    if (isOfLance ? isOldStaged(found.modified) : isOld(found.modified)) candidates.push(found)
    else if (writerMarkIn(found.path) === undefined) young.add(tableFolderOf(found.path))
  }
  return { candidates, young }
}

/** The folder of a table whose location the catalog chose. */
function tableFolderOf(path: string): string {
  return path.slice(0, path.indexOf('/', tablesFolder.length + 1) + 1)
}

/** The name of a manifest that a writer of Lance staged. The record of its version, if there is one, has it. */
function stagedNameOf(path: string): string | undefined {
  if (path.includes('/_versions/') && isStaged(path)) return nameOf(path)
  return waitingAt(path)?.stagedName
}

/**
 * Returns the work that may still commit objects which were listed before. Other work has committed by now, or is refused:
 * it counts as failed, or it has no record yet and compares how many vacuums began.
 */
async function workUnderWay(
  core: MaintenanceContext,
  dryRun: boolean,
): Promise<ReadonlyMap<string, TransactionRecord>> {
  if (!dryRun) await beginVacuum(core)
  const work = await core.store.read(unfinishedTransactions)
  // Only a record ends a lease for sure. A dry run writes none, so it uses the clock.
  if (dryRun) for (const [id, record] of work) if (hasLapsed(record, core.now())) work.delete(id)
  return work
}

/**
 * Counts the vacuum, and ends the leases that lapsed before. Otherwise a clock that goes back would let work and backups
 * use what is removed here.
 */
async function beginVacuum({ store, now }: MaintenanceContext): Promise<void> {
  const ids = [...(await store.read(unfinishedTransactions)).keys()]
  await store.write((writer) => {
    writer.put(keys.vacuums, vacuumsBegun(writer) + 1)
    endLapsedBackups(writer, now())
    failLapsed(writer, ids, now())
  })
}

/** Returns a test for the paths of objects that work under way wrote. */
async function objectsOf(
  core: MaintenanceContext,
  work: ReadonlyMap<string, TransactionRecord>,
): Promise<(path: string) => boolean> {
  const { writerMarkIn, writerMark } = await import('../../engine/table/storage/objects.ts')
  const marks = new Set<string | undefined>(Array.from(work.keys(), writerMark))
  const transactions = new Set<string | undefined>(Array.from(work.keys(), encodeURIComponent))
  const ownMarks = new Set<string | undefined>(Array.from(work.keys(), transactionMark))
  return (path) =>
    marks.has(writerMarkIn(path)) ||
    ownMarks.has(transactionMarkIn(core, path)) ||
    transactions.has(waitingAt(path)?.transaction ?? arrivingAt(path))
}

/** What was known before the tables were read. `pointed` is filled while they are read. */
interface Before {
  readonly work: ReadonlyMap<string, TransactionRecord>
  readonly young: ReadonlySet<string>
  readonly pointed: PointedFiles
}

/** What tables need of a content. */
class Needed {
  /** The folders of tables. */
  readonly live = new Set<string>()
  /** The objects that versions name. */
  readonly paths = new Set<string>()
  /** Folders that stay as they are. */
  readonly whole: string[] = []
  /** The folders of tables of other engines. */
  readonly foreign: string[] = []
  /** The names of manifests that writers of Lance staged, and that were recorded. */
  readonly staged = new Set<string>()
  /** The folders of tables all of whose files are known. */
  readonly walked = new Set<string>()
}

/** Reads what tables need, or may need once transactions under way are committed. */
async function readNeeded(
  core: MaintenanceContext,
  content: Content,
  { pointed, leftSince }: { readonly pointed: PointedFiles; readonly leftSince: number },
  signal: AbortSignal | undefined,
): Promise<Needed> {
  const needed = new Needed()
  const { live, paths, whole, foreign, staged, walked } = needed
  // Content of a deregistered table stays: its location may be registered again, also while the tables are read.
  whole.push(...(await deregisteredFolders(core)))
  for await (const { internalId, folder, pointers } of allFolders(core, content, leftSince)) {
    signal?.throwIfAborted()
    if (pointers !== undefined) pointed.note(internalId, pointers)
    if (folder === undefined) continue
    const { prefix, versions, stagedNames } = folder
    live.add(prefix)
    for (const name of stagedNames) staged.add(name)
    if (versions === undefined) {
      foreign.push(prefix)
      continue
    }
    const engine = await core.engine(content)
    try {
      for await (const path of engine.reachable(prefix, versions)) paths.add(path)
      walked.add(folderName(core.contentRoots, { content, prefix }))
    } catch (error) {
      // Another process may have removed versions meanwhile. The next vacuum removes the rest of them.
      if (await isAsItWas(core, internalId, versions)) throw error
      whole.push(prefix)
    }
  }
  // Others were deregistered meanwhile.
  whole.push(...(await deregisteredFolders(core)))
  for await (const { path } of content.list(`${tablesFolder}/`)) {
    const at = path.indexOf(`/${registrationFolder}`)
    // Another catalog may have deregistered it.
    if (at >= 0 && !live.has(path.slice(0, at + 1))) whole.push(path.slice(0, at + 1))
  }
  // A clone that was made, or deregistered, since the tables were read may name any file of the folders it shares.
  whole.push(...(await foldersOfUnknownClones(core, { content }, walked)))
  return needed
}

/** Returns a test for the objects that a table needs. */
async function neededTest(
  core: MaintenanceContext,
  content: Content,
  { live, paths, whole, foreign, staged }: Needed,
  { work, young, pointed }: Before,
): Promise<(found: ListedObject) => boolean> {
  const { isEngineObject, writerMarkIn } = await import('../../engine/table/storage/objects.ts')
  const isOurs = (name: string) => isEngineObject(name) || name.startsWith(registrationFolder)
  const begun = oldestBegun(work)
  const isBelow = (path: string, folders: readonly string[]) =>
    folders.some((prefix) => path.startsWith(prefix))
  return ({ path, modified, becomes = path }) => {
    const name = nameIn(live, path)
    const stagedName = stagedNameOf(path)
    // A writer that was killed, or gave up, left it behind.
    if (name !== undefined && arrivingAt(path) !== undefined) return false
    if (stagedName !== undefined && name !== undefined) return staged.has(stagedName)
    if (paths.has(path) || isBelow(path, whole)) return true
    if (name !== undefined && transactionMarkIn(core, becomes) !== undefined)
      return pointed.has(content, path)
    // Clients of other engines may write anywhere at a table's location.
    if (name !== undefined) return isBelow(path, foreign) || !isOurs(name)
    return (mayBeSince(modified, begun) || young.has(tableFolderOf(path))) && writerMarkIn(path) === undefined
  }
}

/** When the oldest work began that may make a table whose files do not show who wrote them. */
function oldestBegun(work: ReadonlyMap<string, TransactionRecord>): number {
  const mayMake = [...work.values()].filter(({ operation }) =>
    ['Transaction', 'CreateTable', 'CloneTable', 'ImportCatalog'].includes(operation),
  )
  return mayMake.reduce((oldest, { created_at }) => Math.min(oldest, created_at), Number.POSITIVE_INFINITY)
}

/** The rest of a path behind the first of `folders` that contains it; undefined when no folder does. */
function nameIn(folders: ReadonlySet<string>, path: string): string | undefined {
  for (let end = path.indexOf('/'); end >= 0; end = path.indexOf('/', end + 1)) {
    if (folders.has(path.slice(0, end + 1))) return path.slice(end + 1)
  }
  return undefined
}
