import type { Core } from '../catalog/core.ts'
import type { Content } from '../content/content.ts'
import { CatalogError, invalid } from '../errors.ts'
import { isHeld } from '../locations/backup-lease.ts'
import { locationOf, placeOf, tablesFolder } from '../locations/locations.ts'
import { registrationFolder } from '../locations/registration.ts'
import { abandonedRemovals, removeContent } from '../locations/removal.ts'
import { readTable, tableById } from '../lookup/table-record.ts'
import { manifestOf } from '../rows/rows.ts'
import {
  keys,
  type TablePointer,
  type TableRecord,
  type TransactionRecord,
  type VersionRecord,
} from '../store/records.ts'
import type { Reader } from '../store/store.ts'
import type { ManifestRef } from '../table/index.ts'
import { isFinished, leaseMillis, statusOf } from '../transactions/transaction-record.ts'

export interface VacuumOptions {
  /** Leaves alone what was written within so many milliseconds. Default: one hour. */
  readonly graceMillis?: number
  /** Only tells what would go. */
  readonly dryRun?: boolean
  readonly signal?: AbortSignal
  readonly onProgress?: (report: VacuumReport) => void
}

export interface VacuumReport {
  /** Objects looked at. */
  readonly examined: number
  /** Objects removed, or that would have been. */
  readonly removed: number
  /** Their bytes. */
  readonly bytes: number
}

/**
 * Removes content under the catalog's own root that nothing reaches: objects that no version of their table
 * needs, and the content of tables that are gone without having been deregistered. What is younger than the
 * grace period, or than the oldest work on rows under way, may be about to be committed and stays; so does
 * all that another engine may have written, and all that lies elsewhere.
 */
export async function vacuum(core: Core, options: VacuumOptions = {}): Promise<VacuumReport> {
  const { graceMillis = 3_600_000, dryRun = false, signal, onProgress } = options
  if (!(graceMillis >= 0)) throw invalid('graceMillis must be a number of milliseconds from 0.')
  if (!dryRun) {
    const now = core.now()
    await removeContent(core, await core.store.read((reader) => abandonedRemovals(reader, now)))
  }
  const { content } = core.places.roots[0]!
  const report = { examined: 0, removed: 0, bytes: 0 }
  const began = core.now()
  // Listed before the store is read: what was committed by then is known to be reached.
  const work = await workSince(core, began)
  const before = Math.min(began - graceMillis, oldestOf(work.underWay, began))
  const candidates = await list(content, before, began - leaseMillis, report, signal)
  const reachable = await reached(core, content, signal)
  // Work may write before its transaction is recorded, and be done by now. That takes no minute.
  const since = graceMillis < leaseMillis ? await newWork(core, began, work) : Number.POSITIVE_INFINITY
  if (!dryRun) await requireNoHold(core)
  for (const { path, size, modified } of candidates) {
    signal?.throwIfAborted()
    if (modified >= since || reachable(path)) continue
    if (!dryRun) await content.remove(path)
    report.removed++
    report.bytes += size
    onProgress?.({ ...report })
  }
  return report
}

/** Refuses to go on while somebody copies; asked after it is known what nothing reaches. */
async function requireNoHold(core: Core): Promise<void> {
  const now = core.now()
  if (!(await core.store.read((reader) => isHeld(reader, now)))) return
  throw new CatalogError(
    'ServiceUnavailable',
    'The catalog is being copied, and what nothing reaches now may be part of the copy. Vacuum when the backup is done.',
  )
}

type Listed = ReturnType<Content['list']> extends AsyncIterable<infer Item> ? Item : never

/**
 * What was written before a moment. Registrations are written ahead of the change that names them, which is no
 * transaction that could be seen: of them, what was written before another.
 */
async function list(
  content: Content,
  before: number,
  registeredBefore: number,
  report: { examined: number },
  signal: AbortSignal | undefined,
): Promise<Listed[]> {
  const candidates: Listed[] = []
  for await (const found of content.list(`${tablesFolder}/`)) {
    signal?.throwIfAborted()
    report.examined++
    const isRegistration = found.path.includes(`/${registrationFolder}`)
    if (found.modified < (isRegistration ? Math.min(before, registeredBefore) : before))
      candidates.push(found)
  }
  return candidates
}

/** How far, in milliseconds, the clock that dates objects may be behind the catalog's. */
const clockSlack = 10_000

/** When transactions began, by their ids. */
interface Work {
  readonly underWay: ReadonlyMap<string, number>
  readonly finished: ReadonlyMap<string, number>
}

/** The work on rows that is under way, and that which has ended since a moment. */
function workSince(core: Core, moment: number): Promise<Work> {
  const now = core.now()
  return core.store.read((reader) => {
    const underWay = new Map<string, number>()
    const finished = new Map<string, number>()
    for (const { key, value } of reader.range<TransactionRecord>({ prefix: keys.transactions })) {
      const { created_at, finished_at = 0 } = value
      if (!isFinished(statusOf(value, now))) underWay.set(String(key[1]), created_at)
      else if (finished_at >= moment) finished.set(String(key[1]), created_at)
    }
    return { underWay, finished }
  })
}

/** When the oldest work began that was not known before, whether it has ended or not. */
async function newWork(core: Core, moment: number, before: Work): Promise<number> {
  const { underWay, finished } = await workSince(core, moment)
  const found = new Map([...underWay, ...finished])
  for (const id of before.finished.keys()) found.delete(id)
  return oldestOf(found, Number.POSITIVE_INFINITY)
}

/** When the oldest work began, with some slack. */
function oldestOf(work: ReadonlyMap<string, number>, none: number): number {
  let oldest = none
  for (const began of work.values()) oldest = Math.min(oldest, began - clockSlack)
  return oldest
}

/** Tells of a path whether a table needs it. */
async function reached(
  core: Core,
  content: Content,
  signal: AbortSignal | undefined,
): Promise<(path: string) => boolean> {
  const live = new Set<string>()
  const paths = new Set<string>()
  const whole: string[] = []
  for await (const { internalId, prefix, versions } of tablesIn(core, content)) {
    signal?.throwIfAborted()
    live.add(prefix)
    if (versions === undefined) {
      whole.push(prefix)
      continue
    }
    const engine = await core.engine(content)
    try {
      for await (const path of engine.reachable(prefix, versions)) paths.add(path)
    } catch (error) {
      // What was given up meanwhile may be gone meanwhile. What is left there is for the next vacuum.
      if (await isAsItWas(core, internalId, versions)) throw error
      whole.push(prefix)
    }
  }
  for await (const { path } of content.list(`${tablesFolder}/`)) {
    const at = path.indexOf(`/${registrationFolder}`)
    // Content that was deregistered, and not registered again, waits to be.
    if (at >= 0 && !live.has(path.slice(0, at + 1))) whole.push(path.slice(0, at + 1))
  }
  const { isEngineObject } = await import('../table/storage/object-names.ts')
  const isOurs = (name: string) => isEngineObject(name) || name.startsWith(registrationFolder)
  return (path) => {
    if (paths.has(path) || whole.some((prefix) => path.startsWith(prefix))) return true
    const name = nameIn(live, path)
    // Clients may write wherever they are told that a table lies.
    return name !== undefined && !isOurs(name)
  }
}

/** What a path is called within the first of the folders that it leads through, if it leads through any. */
function nameIn(folders: ReadonlySet<string>, path: string): string | undefined {
  for (let end = path.indexOf('/'); end >= 0; end = path.indexOf('/', end + 1)) {
    if (folders.has(path.slice(0, end + 1))) return path.slice(end + 1)
  }
  return undefined
}

/** Whether a table still has all the versions it had. */
function isAsItWas(core: Core, internalId: string, versions: readonly ManifestRef[]): Promise<boolean> {
  return core.store.read((reader) => {
    const now = new Set(Array.from(versionsOf(reader, internalId), ({ manifest_path }) => manifest_path))
    return tableById(reader, internalId) !== undefined && versions.every(({ path }) => now.has(path))
  })
}

function versionsOf(reader: Reader, internalId: string): VersionRecord[] {
  return Array.from(
    reader.range<VersionRecord>({ prefix: keys.allVersions(internalId) }),
    ({ value }) => value,
  )
}

interface TableContent {
  readonly internalId: string
  readonly prefix: string
  /** The manifests of all versions; undefined when they are, or may come to be, another engine's. */
  readonly versions: readonly ManifestRef[] | undefined
}

const tablesAtATime = 1_000

/** Read some at a time, so that a large catalog goes on serving: what comes later was no candidate anyway. */
async function* tablesIn(core: Core, content: Content): AsyncGenerator<TableContent> {
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
        return { internalId, table: contentOf(core, content, reader, internalId, record) }
      })
    })
    for (const { table } of chunk) if (table) yield table
    after = chunk.length === tablesAtATime ? chunk.at(-1)!.internalId : undefined
  } while (after !== undefined)
}

function contentOf(
  core: Core,
  content: Content,
  reader: Reader,
  internalId: string,
  record: TableRecord,
): TableContent | undefined {
  const place = placeOf(core.places, locationOf(core.places, internalId, record))
  if (place === undefined || place.content !== content) return undefined
  const versions = versionsOf(reader, internalId)
  const ours = versions.length > 0 && versions.every((version) => version.rows !== undefined)
  return { internalId, prefix: place.prefix, versions: ours ? versions.map(manifestOf) : undefined }
}
