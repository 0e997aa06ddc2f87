import { CachedQuery, QueryWithTimeout } from '../../base/scheduling/cached-query.ts'
import { pendingRemovals } from '../locations/removal.ts'
import { type Backlog, backlogOf } from '../transactions/backlog.ts'
import { type LeasesOfOthers, leasesOfOthers } from '../transactions/leases-of-others.ts'
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
    connections,
    freeBytes,
    backlog: records?.backlog,
    leasesOfOthers: records?.leasesOfOthers,
    pendingRemovals: records?.pendingRemovals,
  }
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
