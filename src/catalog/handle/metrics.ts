import { CachedQuery, QueryWithTimeout } from '../../base/scheduling/cached-query.ts'
import { type BackupLeaseRecord, keys, type TaskRecord } from '../../base/store/records.ts'
import type { Key, Reader } from '../../base/store/store.ts'
import { pendingRemovals } from '../locations/removal.ts'
import type { Core } from './core.ts'
import type { CatalogMetrics } from './metrics-types.ts'

/** The timeout of the store's answer, and how long that answer is reused, in milliseconds. */
const times = { answer: 2_000, kept: 1_000 }

/** What is read from the store. */
interface Records {
  readonly backlog: Backlog
  readonly leasesOfOthers: LeasesOfOthers
  readonly pendingRemovals: number
}

const answers = new WeakMap<Core, CachedQuery<Records | undefined>>()

/** The metrics of an open catalog. Never fails. */
export async function metricsOf(core: Core): Promise<CatalogMetrics> {
  const records = await sharedRecords(core).get()
  const { counts, heartbeat, store } = core
  const { lostCommits = 0, connections, freeBytes } = store.metrics?.() ?? {}
  const { limit: mostBytes, bytes, hits, misses } = core.cacheUse()
  return {
    commits: counts.commits,
    lostRaces: {
      commits: lostCommits,
      rows: counts.lostRows,
      operations: counts.lostOperations,
      transactions: counts.lostTransactions,
    },
    turns: { taken: counts.turnWaits, waitedSeconds: counts.turnWaitMillis / 1_000 },
    openTransactions: counts.openTransactions,
    oldestLeaseSeconds: heartbeat.oldestMillis / 1_000,
    cache: { bytes, mostBytes, hits, misses },
    diskCache: core.diskCacheUse(),
    lance: core.lanceUse(),
    connections,
    freeBytes,
    backlog: records?.backlog,
    leasesOfOthers: records?.leasesOfOthers,
    pendingRemovals: records?.pendingRemovals,
  }
}

/** Records beyond what the catalog keeps. The upkeep removes them. */
interface Backlog {
  /** Transaction records, counted in marks: precise to about a hundredth of the number that is kept. */
  readonly transactions: number
  /** Entries of the feed of changes. */
  readonly changes: number
}

/** The most marks that are read: ten times as many as there are without a backlog. */
const maxMarks = 1_000

/**
 * Counts the records beyond `transactionCount` from the first and last keys, without a walk over all records. The
 * result is a lower bound once ten times as many records wait as are kept.
 */
function backlogOf(reader: Reader, transactionCount: number): Backlog {
  const [first] = reader.range({ prefix: keys.transactions, limit: 1, keysOnly: true })
  const [oldest] = reader.range({ prefix: keys.feed, limit: 1, keysOnly: true })
  const [newest] = reader.range({ prefix: keys.feed, limit: 1, keysOnly: true, reverse: true })
  const marks = [...reader.range<number>({ prefix: keys.marks, limit: maxMarks, reverse: true })]
  let kept = 0
  let transactions = 0
  for (const { key, value } of marks) {
    // The last mark to be cleared stays when its records are gone.
    if (kept < transactionCount) kept += value
    else if (first !== undefined && String(first.key[1]) <= String(key[1])) transactions += value
  }
  // The last entry stays, however few are kept.
  const entries = oldest && newest ? Number(newest.key[1]) - Number(oldest.key[1]) + 1 : 0
  return { transactions, changes: Math.max(0, entries - Math.max(1, transactionCount)) }
}

/** Frequent calls cause no load: an answer is reused for a while. */
function sharedRecords(core: Core): CachedQuery<Records | undefined> {
  let shared = answers.get(core)
  if (shared === undefined) {
    const { store, settings } = core
    const read = () =>
      store.read((reader) => ({
        backlog: backlogOf(reader, settings.transactionCount),
        leasesOfOthers: leasesOfOthers(reader, core),
        pendingRemovals: pendingRemovals(core, reader),
      }))
    const question = new QueryWithTimeout(read, times.answer)
    // /readyz, and operations that need the store, report why there is no answer.
    shared = new CachedQuery(() => question.answer().catch(() => undefined), times.kept)
    answers.set(core, shared)
  }
  return shared
}

/**
 * Leases of other processes that have records of their own. Those of transactions lie among all transaction records.
 */
interface LeasesOfOthers {
  readonly backups: number
  /** Tasks that one process does at a time: the upkeep, and optimizing tables in the background. */
  readonly tasks: number
}

/** The most leases that are read. There are as many as processes have work under way. */
const maxLeases = 1_000

/** How many leases other processes hold. An ended lease does not count, though its record may still exist. */
function leasesOfOthers(reader: Reader, { heartbeat, now }: Core): LeasesOfOthers {
  const time = now()
  const count = (prefix: Key) => {
    const leases = [...reader.range<BackupLeaseRecord | TaskRecord>({ prefix, limit: maxLeases })]
    return leases.filter(({ key, value }) => value.until >= time && !heartbeat.holds(key)).length
  }
  return { backups: count(keys.backupLeases), tasks: count(keys.tasks) }
}
