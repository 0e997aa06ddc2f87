import type { Registry } from 'prom-client'
import { optionalPackage } from '../../base/optional-package.ts'
import type { Catalog, CatalogMetrics } from '../../catalog/index.ts'
import type { AdmissionControl } from '../limits/admission-control.ts'

/** Upper bounds of the duration buckets, in seconds. */
const bounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300]

interface Tally {
  readonly byStatus: Map<number, number>
  readonly buckets: number[]
  seconds: number
}

/** Counts requests by operation and status, and measures durations, by a few additions. Text is made on demand. */
export class Metrics {
  readonly #tallies = new Map<string, Tally>()
  readonly #admission: AdmissionControl
  readonly #catalog: CatalogCollector
  #registry: Promise<Registry> | undefined

  constructor(admission: AdmissionControl, catalog: Pick<Catalog, 'metrics'>) {
    this.#admission = admission
    this.#catalog = new CatalogCollector(catalog)
  }

  /** Counts one finished request. */
  count(operation: string, status: number, millis: number): void {
    let tally = this.#tallies.get(operation)
    if (tally === undefined) {
      tally = { byStatus: new Map(), buckets: new Array(bounds.length + 1).fill(0), seconds: 0 }
      this.#tallies.set(operation, tally)
    }
    const seconds = millis / 1_000
    tally.byStatus.set(status, (tally.byStatus.get(status) ?? 0) + 1)
    tally.seconds += seconds
    let bucket = 0
    while (bucket < bounds.length && seconds > bounds[bucket]!) bucket++
    tally.buckets[bucket]!++
  }

  /** The metrics in the text format of Prometheus, and its content type. */
  async text(): Promise<{ type: string; text: string }> {
    this.#registry ??= this.#register()
    const registry = await this.#registry
    await this.#catalog.refresh()
    return { type: registry.contentType, text: await registry.metrics() }
  }

  async #register(): Promise<Registry> {
    const { collectDefaultMetrics, Counter, Gauge, Registry } = await optionalPackage(
      '/metrics',
      'prom-client',
      () => import('prom-client'),
    )
    const registers = [new Registry()] as [Registry]
    const metrics = this
    collectDefaultMetrics({ register: registers[0] })
    new Counter({
      name: 'tabularium_requests_total',
      help: 'Requests by operation and HTTP status.',
      labelNames: ['operation', 'status'],
      registers,
      collect() {
        this.reset()
        for (const [operation, { byStatus }] of metrics.#tallies)
          for (const [status, times] of byStatus) this.inc({ operation, status }, times)
      },
    })
    new Gauge({
      name: 'tabularium_requests_in_flight',
      help: 'Requests under way.',
      registers,
      collect() {
        this.set(metrics.#admission.inFlight)
      },
    })
    new Gauge({
      name: 'tabularium_body_bytes',
      help: 'Bytes held for requests: bodies, as they came and decoded, and answers under way.',
      registers,
      collect() {
        this.set(metrics.#admission.memory.used)
      },
    })
    for (const metric of [this.#durations(), ...this.#catalog.metrics])
      registers[0].registerMetric(metric as never)
    return registers[0]
  }

  /** The histogram of the tallies, in the form that the registry expects. */
  #durations() {
    const name = 'tabularium_request_duration_seconds'
    const help = 'How long requests took, by operation.'
    return {
      name,
      get: async () => ({
        name,
        help,
        type: 'histogram',
        aggregator: 'sum',
        values: [...this.#tallies].flatMap(([operation, tally]) => durationValues(name, operation, tally)),
      }),
    }
  }
}

function durationValues(name: string, operation: string, { buckets, seconds }: Tally) {
  let sum = 0
  const counts = buckets.map((times, index) => {
    sum += times
    return { metricName: `${name}_bucket`, labels: { operation, le: bounds[index] ?? '+Inf' }, value: sum }
  })
  return [
    ...counts,
    { metricName: `${name}_sum`, labels: { operation }, value: seconds },
    { metricName: `${name}_count`, labels: { operation }, value: sum },
  ]
}

/** A value of a metric, with its labels. */
type Sample = readonly [value: number, labels?: Readonly<Record<string, string>>]

interface CatalogMetric {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge'
  /** The samples of the metric. Empty when the catalog does not report it. */
  readonly of: (metrics: CatalogMetrics) => readonly Sample[]
}

const known = (value: number | undefined): readonly Sample[] => (value === undefined ? [] : [[value]])

const ofEach = (label: string, values: Readonly<Record<string, number>> | undefined): readonly Sample[] =>
  Object.entries(values ?? {}).map(([name, value]) => [value, { [label]: name }])

/** The metrics of a catalog. docs/serve.md lists and explains them. */
const catalogMetrics: readonly CatalogMetric[] = [
  {
    name: 'tabularium_store_up',
    help: 'Whether the store of the catalog answered within 2 seconds: 1 or 0.',
    type: 'gauge',
    of: ({ backlog }) => known(backlog === undefined ? 0 : 1),
  },
  {
    name: 'tabularium_commits_total',
    help: 'Changes that were committed: each by itself, a batch, or a transaction as a whole.',
    type: 'counter',
    of: ({ commits }) => known(commits),
  },
  {
    name: 'tabularium_lost_races_total',
    help: 'What was done again, or came to nothing, since others were first.',
    type: 'counter',
    of: ({ lostRaces }) => ofEach('kind', lostRaces),
  },
  {
    name: 'tabularium_turns_total',
    help: 'Turns that changes of rows took among the servers that change a table.',
    type: 'counter',
    of: ({ turns }) => known(turns.taken),
  },
  {
    name: 'tabularium_turn_wait_seconds_total',
    help: 'How long changes of rows waited for these turns, in all.',
    type: 'counter',
    of: ({ turns }) => known(turns.waitedSeconds),
  },
  {
    name: 'tabularium_open_transactions',
    help: 'Transactions over several operations that are open in this server.',
    type: 'gauge',
    of: ({ openTransactions }) => known(openTransactions),
  },
  {
    name: 'tabularium_oldest_lease_age_seconds',
    help: 'For how long this server has held its oldest lease: of long work, an open transaction, a backup.',
    type: 'gauge',
    of: ({ oldestLeaseSeconds }) => known(oldestLeaseSeconds),
  },
  {
    name: 'tabularium_upkeep_backlog_records',
    help: 'Records that are more than the catalog keeps, and wait to be cleared.',
    type: 'gauge',
    of: ({ backlog }) => ofEach('kind', backlog),
  },
  {
    name: 'tabularium_leases_of_others',
    help: 'Leases that other processes hold: of backups, and of tasks that one process does at a time.',
    type: 'gauge',
    of: ({ leasesOfOthers }) => ofEach('kind', leasesOfOthers),
  },
  {
    name: 'tabularium_content_removals_pending',
    help: 'Dropped tables whose content is still to be removed, as far as they are counted.',
    type: 'gauge',
    of: ({ pendingRemovals }) => known(pendingRemovals),
  },
  {
    name: 'tabularium_content_cache_bytes',
    help: 'Content of tables that is kept decoded in memory.',
    type: 'gauge',
    of: ({ cache }) => known(cache.bytes),
  },
  {
    name: 'tabularium_content_cache_limit_bytes',
    help: 'Most content that is kept decoded in memory; 0 before rows are first read.',
    type: 'gauge',
    of: ({ cache }) => known(cache.mostBytes),
  },
  {
    name: 'tabularium_content_cache_hits_total',
    help: 'How often content was in memory when it was needed.',
    type: 'counter',
    of: ({ cache }) => known(cache.hits),
  },
  {
    name: 'tabularium_content_cache_misses_total',
    help: 'How often content had to be read.',
    type: 'counter',
    of: ({ cache }) => known(cache.misses),
  },
  {
    name: 'tabularium_disk_cache_hits_total',
    help: 'How often content of object storage was on local disk when it was read.',
    type: 'counter',
    of: ({ diskCache }) => known(diskCache?.hits),
  },
  {
    name: 'tabularium_disk_cache_misses_total',
    help: 'How often content was not on local disk, and object storage was asked.',
    type: 'counter',
    of: ({ diskCache }) => known(diskCache?.misses),
  },
  {
    name: 'tabularium_lance_process_ends_total',
    help: 'Processes of Lance that ended while they were of use.',
    type: 'counter',
    of: ({ lance }) => ofEach('reason', lance?.ended),
  },
  {
    name: 'tabularium_lance_process_memory_bytes',
    help: 'Memory of the processes of Lance, as the last answer of each told.',
    type: 'gauge',
    of: ({ lance }) => known(lance?.memoryBytes),
  },
  {
    name: 'tabularium_database_connections',
    help: 'Open connections to the database: used ones have statements under way.',
    type: 'gauge',
    of: ({ connections }) =>
      ofEach('state', connections && { used: connections.used, idle: connections.idle }),
  },
  {
    name: 'tabularium_database_connections_max',
    help: 'Most connections to the database: as many as it gave, after it refused one.',
    type: 'gauge',
    of: ({ connections }) => known(connections?.most),
  },
  {
    name: 'tabularium_database_connections_pending',
    help: 'Work that waits for a connection to the database.',
    type: 'gauge',
    of: ({ connections }) => known(connections?.waiting),
  },
  {
    name: 'tabularium_disk_free_bytes',
    help: 'Free bytes on the disk of the directory that holds the records.',
    type: 'gauge',
    of: ({ freeBytes }) => known(freeBytes),
  },
]

/** A metric in the shape that a registry needs. */
export interface Collected {
  readonly name: string
  get(): Promise<object>
}

/** Collects the metrics of a catalog. `refresh` requests all values in one call. */
class CatalogCollector {
  readonly #catalog: Pick<Catalog, 'metrics'>
  #latest: CatalogMetrics | undefined

  constructor(catalog: Pick<Catalog, 'metrics'>) {
    this.#catalog = catalog
  }

  /** Requests the current values. A catalog behind another server has none. */
  async refresh(): Promise<void> {
    this.#latest = await this.#catalog.metrics?.().catch(() => undefined)
  }

  get metrics(): readonly Collected[] {
    return catalogMetrics.map(({ name, help, type, of }) => ({
      name,
      get: async () => ({
        name,
        help,
        type,
        aggregator: 'sum',
        values: (this.#latest ? of(this.#latest) : []).map(([value, labels = {}]) => ({ value, labels })),
      }),
    }))
  }
}
