import type { Content } from '../../base/content/content.ts'
import { CatalogError } from '../../base/errors.ts'
import { keys, type RemovalRecord, recordFormat } from '../../base/store/records.ts'
import type { Key, Reader, Store, Writer } from '../../base/store/store.ts'
import { keptTableById } from '../lookup/names.ts'
import type { Heartbeat, Holding } from '../transactions/heartbeat.ts'
import { leaseMillis } from '../transactions/transaction-record.ts'
import type { UpkeepTask } from '../transactions/upkeep.ts'
import { endLapsedBackups, hasBackupLease, onceBackupsEnded } from './backup-lease.ts'
import {
  type ContentFolder,
  contentFolderOf,
  offsiteFolderOf,
  type Roots,
  segmentsOf,
  tablesFolder,
} from './locations.ts'
import { isShared } from './shared-content.ts'

/** What removing content needs of its catalog. */
interface RemovalContext extends Roots {
  readonly store: Store
  readonly now: () => number
  readonly heartbeat: Heartbeat
  /** Set inside of a transaction over many operations. */
  readonly staging?: {
    readonly outside: RemovalContext
    afterCommit(work: () => unknown): void
  }
}

/**
 * Marks the location of a table, within the change that drops the table, and returns the location. No table gets
 * the location before {@link removeContent} has emptied it: otherwise the removal could remove new content.
 */
export function markRemoval(writer: Writer, location: string, now: number): string {
  endLapsedBackups(writer, now)
  const record: RemovalRecord = { v: recordFormat, removing: location, until: now + leaseMillis }
  writer.put(keys.location(segmentsOf(location)), record)
  return location
}

/**
 * Removes the content of dropped tables, and frees their locations. The drop itself has succeeded by then, so
 * a failure here is no error: the location stays marked. The next vacuum, or the next table that wants the location,
 * removes the content. Inside of a transaction over many operations, this waits for its commit.
 */
export async function removeContent(core: RemovalContext, locations: readonly string[]): Promise<void> {
  if (locations.length === 0) return
  if (core.staging) {
    const { outside } = core.staging
    return core.staging.afterCommit(() => removeContent(outside, locations))
  }
  // If the store cannot say whether anything needs the content, it stays for now.
  const kept = await keptContent(core, locations).catch(() => locations)
  const free = locations.filter((location) => !kept.includes(location))
  const emptied: string[] = []
  const holdings = free.map(holdingOf)
  for (const holding of holdings) core.heartbeat.hold(holding)
  const away = new Set<Content>()
  for (const location of free) {
    // For a location out of reach, this removes what the catalog keeps of it in its own root.
    const folder =
      contentFolderOf(core.contentRoots, location) ?? offsiteFolderOf(core.contentRoots, location)
    // An unavailable service fails for all of them, and the caller would wait for each.
    if (away.has(folder.content)) continue
    const outcome = await removeFolder(folder)
    if (outcome === 'removed') emptied.push(location)
    else if (outcome === 'away') away.add(folder.content)
  }
  for (const holding of holdings) core.heartbeat.release(holding)
  if (emptied.length === 0) return
  await core.store
    .write((writer) => {
      for (const location of emptied) {
        const key = keys.location(segmentsOf(location))
        if (typeof writer.get(key) === 'object') writer.remove(key)
      }
    })
    .catch(() => {})
}

/**
 * The mark of a removal under way. While it has a lease, no other process removes there: that one would free the
 * location for a new table.
 */
function holdingOf(location: string): Holding<string | RemovalRecord> {
  return {
    key: keys.location(segmentsOf(location)),
    leaseOf: (mark) => (typeof mark === 'object' ? mark.until : undefined),
    renewed: (mark, until) => (typeof mark === 'object' ? { ...mark, until } : mark),
    lost: () => {},
  }
}

/**
 * The locations whose dropped content stays: all of them while a backup runs, and those with files that clones name. They
 * are marked as abandoned, so that a later removal may empty them at once.
 */
async function keptContent(core: RemovalContext, locations: readonly string[]): Promise<readonly string[]> {
  const kept = await onceBackupsEnded(core, (reader) =>
    hasBackupLease(reader, core.now())
      ? locations
      : locations.filter((location) => isShared(core.contentRoots, reader, location)),
  )
  if (kept.length === 0) return kept
  await core.store
    .write((writer) => {
      for (const location of kept) {
        const key = keys.location(segmentsOf(location))
        const mark = writer.get<string | RemovalRecord>(key)
        if (typeof mark === 'object' && mark.until > 0) writer.put(key, { ...mark, until: 0 })
      }
    })
    .catch(() => {})
  return kept
}

/** Removes a folder of content, unless its service is unavailable or refuses. */
async function removeFolder({ content, prefix }: ContentFolder): Promise<'removed' | 'refused' | 'away'> {
  return content.remove(prefix).then(
    () => 'removed',
    (error) => (error instanceof CatalogError && error.code === 'ServiceUnavailable' ? 'away' : 'refused'),
  )
}

/**
 * Removes the content that was written for a table whose creation failed. A commit may fail and still have succeeded,
 * as when a disk breaks in the middle of it. So content stays if the store has the table, or fails to answer. While a
 * backup runs, it stays for a vacuum: tools fail when files go that they are about to copy. Returns whether the store and
 * the content both worked.
 */
export async function removeUnused(
  core: RemovalContext,
  internalId: string,
  folder: ContentFolder,
): Promise<boolean> {
  try {
    const stays = await onceBackupsEnded(
      core,
      (reader) => hasBackupLease(reader, core.now()) || keptTableById(reader, internalId) !== undefined,
    )
    return stays || (await removeFolder(folder)) === 'removed'
  } catch {
    return false
  }
}

/** The most locations in one turn of the upkeep. */
const inOneTurn = 250

/** Removes the content that dead processes left, of some locations at a time. */
export function finishRemovals(core: RemovalContext): UpkeepTask {
  let start: Key | undefined
  const run: UpkeepTask['run'] = async ({ throttled }) => {
    const range = { prefix: keys.locations, limit: inOneTurn, ...(start && { start }) }
    const entries = await core.store.read((reader) => [...reader.range<string | RemovalRecord>(range)])
    start = entries.length < inOneTurn ? undefined : entries.at(-1)!.key
    const now = core.now()
    const left = entries
      .flatMap(({ value }) => (typeof value === 'object' && value.until < now ? [value.removing] : []))
      // Another process may reach the others.
      .filter((location) => contentFolderOf(core.contentRoots, location) !== undefined)
    await throttled(() => removeContent(core, left))
    // Locations that stay would be checked forever. The rest is for the next turn.
    return false
  }
  return { run }
}

/** The marked locations whose removal is overdue, since its process died or left it to others. */
export function abandonedRemovals(reader: Reader, now: number): string[] {
  const entries = reader.range<string | RemovalRecord>({ prefix: keys.locations })
  return Array.from(entries, ({ value }) => value)
    .filter((value) => typeof value === 'object')
    .filter(({ until }) => until < now)
    .map(({ removing }) => removing)
}

/** The most marks that are read. */
const maxMarks = 1_000

/**
 * How many dropped tables have content that is still to be removed, up to {@link maxMarks}. Only those whose location the
 * catalog chose in its own root: there, nothing but marks has records. Other locations have one for each table.
 */
export function pendingRemovals({ contentRoots }: Roots, reader: Reader): number {
  const prefix = keys.location([...segmentsOf(contentRoots[0]!.url), tablesFolder])
  const entries = [...reader.range<string | RemovalRecord>({ prefix, limit: maxMarks })]
  // Callers may have named a few locations there, too.
  return entries.filter(({ value }) => typeof value === 'object').length
}
