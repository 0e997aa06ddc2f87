/** Metrics of an open catalog, for its operators. Counts begin with 0 when the catalog is opened. */
export interface CatalogMetrics {
  /** Changes that this process committed: each by itself, a batch, or a transaction as a whole. */
  readonly commits: number
  /** What was done again, or failed, since others were first. One race may count as several of these. */
  readonly lostRaces: {
    /** Commits that the database refused, since others had changed what they read. Only a database counts them. */
    readonly commits: number
    /** Changes of rows that were put on top of a version that others committed meanwhile. */
    readonly rows: number
    /** Operations that began again, since others had replaced their table. */
    readonly operations: number
    /** Runs of transactions whose reads others had changed. */
    readonly transactions: number
  }
  /** Turns that work took among several processes, and how long it waited for them in all. */
  readonly turns: { readonly taken: number; readonly waitedSeconds: number }
  /** Transactions over several operations that are open in this process. */
  readonly openTransactions: number
  /** For how long this process has held its oldest lease: of long work, an open transaction, a backup. 0 without any. */
  readonly oldestLeaseSeconds: number
  /** Content that is kept decoded in memory. */
  readonly cache: {
    readonly bytes: number
    readonly mostBytes: number
    /** How often content was in the cache when it was needed, and how often it had to be read. */
    readonly hits: number
    readonly misses: number
  }
  /** How often content was on local disk when it was read, and how often the service was asked. Undefined without a cache there. */
  readonly diskCache: { readonly hits: number; readonly misses: number } | undefined
  /** Processes of Lance. Undefined where it has none of its own. */
  readonly lance:
    | {
        /** Their memory, as the last answer of each told. */
        readonly memoryBytes: number
        /** How often one ended while it was of use: after too much time or memory, after canceled work, by a crash. */
        readonly ended: {
          readonly time: number
          readonly memory: number
          readonly abandoned: number
          readonly crash: number
        }
      }
    | undefined
  /** Connections to the database. Undefined for a catalog without one. */
  readonly connections: StoreConnections | undefined
  /** Free bytes on the disk of the directory. Undefined for a catalog without one. */
  readonly freeBytes: number | undefined
  /**
   * Records that are more than the catalog keeps, and wait to be cleared. They are read from the store, at most once a
   * second. Undefined where the store gave no answer within 2 seconds.
   */
  readonly backlog:
    | {
        /** Records of transactions, to a hundredth of those that are kept. */
        readonly transactions: number
        /** Entries of the feed of changes. */
        readonly changes: number
      }
    | undefined
  /** Leases that other processes hold. Read, and undefined, as `backlog`. */
  readonly leasesOfOthers:
    | {
        /** Backups, and other work under a backup lease. They keep the content of dropped tables. */
        readonly backups: number
        /** Tasks that one process does at a time: the upkeep, and optimizing tables in the background. */
        readonly tasks: number
      }
    | undefined
  /**
   * Dropped tables whose content is still to be removed: at most 1,000, and only those whose location the catalog chose in
   * its own root. Read, and undefined, as `backlog`.
   */
  readonly pendingRemovals: number | undefined
}

/** Connections of one process to its database. */
export interface StoreConnections {
  /** Those with statements under way. */
  readonly used: number
  readonly idle: number
  /** As many as there may be: those that the process opens, or fewer where the database gives no more. */
  readonly most: number
  /** How much work waits for one. */
  readonly waiting: number
}
