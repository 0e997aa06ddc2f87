import { BoundedQuestion, SharedAnswer } from '../scheduling/shared-answer.ts'
import { type Backlog, backlogOf } from '../transactions/backlog.ts'
import type { Core } from './core.ts'
import type { CatalogMetrics } from './metrics-types.ts'

/** How long the store has for its answer, and how long that is told to others, in milliseconds. */
const times = { answer: 2_000, kept: 1_000 }

const backlogs = new WeakMap<Core, SharedAnswer<Backlog | undefined>>()

/** What an open catalog tells those who look after it. It never fails. */
export async function metricsOf(core: Core): Promise<CatalogMetrics> {
  const backlog = await sharedBacklog(core).get()
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
    backlog,
  }
}

/** Who asks often makes no load: what was read is told to others for a while. */
function sharedBacklog(core: Core): SharedAnswer<Backlog | undefined> {
  let shared = backlogs.get(core)
  if (shared === undefined) {
    const { store, settings } = core
    const question = new BoundedQuestion(
      () => store.read((reader) => backlogOf(reader, settings.transactionCount)),
      times.answer,
    )
    // Why there is no answer is for /readyz to tell, and for those who need the store.
    shared = new SharedAnswer(() => question.answer().catch(() => undefined), times.kept)
    backlogs.set(core, shared)
  }
  return shared
}
