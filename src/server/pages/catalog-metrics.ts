import type { Catalog, CatalogMetrics } from '../../catalog/handle/handle.ts'

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
export class CatalogCollector {
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
