import { durationOf } from '../../base/model/duration.ts'
import {
  aBoolean,
  aFunction,
  amount,
  checkOptions,
  isObject,
  type OptionChecks,
  oneOf,
  text,
  whole,
} from '../../base/model/options.ts'
import type { ContentCacheOptions } from '../../contents/cache/index.ts'
import type { StorageOptionsHook } from '../locations/context.ts'
import { checkLocation } from '../locations/locations.ts'
import type { AuthorizeHook } from '../lookup/access.ts'
import { checkedRule, type RetentionRule } from '../lookup/retention-rule.ts'
import type { BackgroundOptimize } from '../rows/background.ts'
import type { TableEngineName } from '../rows/format.ts'
import { isolationOptions, type LanceRunOptions } from './lance-options.ts'
import { type OpenTransactionOptions, sessionLimitsOf } from './session-limits.ts'

/** How a catalog behaves; everything has a default. */
export interface CatalogOptions {
  /** Asked before every operation whether it may run. Default: everything may. */
  readonly authorize?: AuthorizeHook
  /** Gives clients what they need to reach a table's location, when they ask for it. Default: nothing. */
  readonly storageOptions?: StorageOptionsHook
  /**
   * Whether clients of Lance are to keep table versions through the catalog. Applies to tables whose versions it can
   * publish: below its own root and `locationRoots`. Default: false.
   */
  readonly managedVersioning?: boolean
  /**
   * Who writes the rows of new tables: this catalog as `'arrow'` files, or Lance, by the package `@lancedb/lancedb`. The
   * property `format` of a table says so for that one. Default: `'arrow'`.
   */
  readonly format?: TableEngineName
  /**
   * How Lance's package runs: with `isolate: true` in a process of its own, so that a crash there ends one request.
   * Default: in this process. The command `serve` isolates it. See docs/lance.md.
   */
  readonly lance?: LanceRunOptions
  /**
   * Folders, besides the catalog's own, in which `file:` locations are read, written and removed. URLs of object storage,
   * such as `s3://bucket/prefix`, do the same for locations below them. A location elsewhere is kept as a name only.
   * Default: none.
   */
  readonly locationRoots?: readonly string[]
  /**
   * The URL below which the catalog chooses locations for new tables; those there are stay where they are.
   * Default: its own root. The URL may lie outside of the catalog's root and of `locationRoots`: tables can then be
   * declared for clients that write there, but not created with rows.
   */
  readonly tableRoot?: string
  /** How long the record of a transaction is kept, in milliseconds. Default: 7 days. */
  readonly transactionAge?: number
  /** About how many records of transactions are kept. Default: 100,000. */
  readonly transactionCount?: number
  /** Most bytes of rows in one request. Default: 256 MiB. */
  readonly arrowBytes?: number
  /**
   * Most bytes of these rows once they are decoded: a few compressed bytes may stand for any number of them.
   * Default: 1 GiB, and at least `arrowBytes`.
   */
  readonly decodedBytes?: number
  /** Most bytes of rows in one answer of `queryTable`; more are to be asked for in parts. Default: 2 GiB. */
  readonly resultBytes?: number
  /** Most columns, aliases and expressions that one query may ask for. Default: 10,000. */
  readonly queryColumns?: number
  /** Most keys that one query may sort by. Those that follow the same column again do not count. Default: 64. */
  readonly orderKeys?: number
  /**
   * Most bytes of new values that one update, merge or change of columns may write beyond as many as the table holds:
   * a short expression may stand for any number of them. More are refused before anything is written. Default: 512 MiB.
   */
  readonly growthBytes?: number
  /** Bytes of table content kept decoded in memory. Default: 256 MiB. */
  readonly cacheBytes?: number
  /**
   * Keeps what is read of rows in object storage in a folder on local disk, too, up to a number of bytes. Several
   * processes may share the folder. Default: nothing is kept there. See docs/object-storage.md.
   */
  readonly contentCache?: ContentCacheOptions
  /**
   * Worker threads that scan tables of several million rows on disk, and compute new columns of them, so that other work
   * goes on meanwhile. They start once scans took as long as starting them does, and share in `cacheBytes`. With 0, the main thread scans in
   * slices. Default: one for each processor, 4 at most, and none on a machine with only one.
   */
  readonly threads?: number
  /** Bounds of the transactions that `beginTransaction` begins in this process. */
  readonly openTransactions?: OpenTransactionOptions
  /**
   * How many operations work on rows, to change them, at the same time; others are Queued. One that has written its version
   * and waits for its commit does not count. Default: 16.
   */
  readonly concurrency?: number
  /**
   * Whether the catalog optimizes tables that change much, as `optimizeTable` does. `'background'` looks at a table
   * every 64 versions and merges its small fragments while others go on reading and writing. It leaves large fragments
   * alone when merging would add little to them. Default: `'off'`.
   */
  readonly optimize?: 'off' | 'background' | BackgroundOptimize
  /**
   * How long dropped tables are held, in milliseconds. `listDroppedTables` lists them, `undropTable` brings one back, and
   * `purgeTable` removes one at once. The upkeep removes those whose time is over, and so does `vacuum`. Default: 0, so
   * that a drop removes a table for good.
   */
  readonly retainDropped?: number
  /**
   * Which versions of tables stay: the newest `versions` of each branch, and those that were replaced less than `age` ago,
   * in milliseconds. The upkeep removes the others, and so does `vacuum`; tags and branches keep theirs. Properties of a
   * table may say otherwise. Default: all stay.
   */
  readonly retention?: RetentionRule
  /** Called with errors of work that no caller waits for. Default: a process warning. */
  readonly onError?: (error: unknown) => void
  /** Returns the time in milliseconds since the epoch. Default: the clock of the database, or else the system's. */
  readonly now?: () => number
  /**
   * Makes internal ids and transaction ids, later ones sorting after earlier ones. The location of a table shows its id,
   * so ids that can be guessed are for tests only. Default: ULIDs, those of tables with random bits of their own.
   */
  readonly newId?: () => string
}

/** The most threads that a catalog may have. */
const maxThreads = 64

const tenYears = durationOf('3650d')

/** A content cache holds some objects at least. */
const leastCache = 1 << 20

const cacheChecks: OptionChecks<ContentCacheOptions> = {
  folder: text('the path of a folder, such as /var/cache/tabularium'),
  bytes: whole(leastCache),
}

const optimizeChecks: OptionChecks<BackgroundOptimize> = {
  every: whole(2),
  targetRows: whole(1),
  targetBytes: whole(1),
  minDeletedShare: (given) =>
    typeof given === 'number' && given >= 0 && given <= 1 ? undefined : 'a number from 0 to 1',
}

/** What each option takes. Whoever opens a catalog checks its options by this, before anything is created. */
export const catalogOptionChecks: OptionChecks<CatalogOptions> = {
  authorize: aFunction,
  storageOptions: aFunction,
  managedVersioning: aBoolean,
  format: oneOf('arrow', 'lance'),
  lance: (given) => void isolationOptions(given as LanceRunOptions),
  locationRoots: (given) =>
    Array.isArray(given) && given.every((root) => typeof root === 'string' && root !== '')
      ? undefined
      : 'a list of folders and URLs',
  tableRoot: (given) => {
    if (typeof given !== 'string') return 'a URL such as s3://bucket/tables'
    checkLocation([], given)
    return undefined
  },
  transactionAge: amount('milliseconds', Number.MAX_SAFE_INTEGER),
  transactionCount: whole(1),
  arrowBytes: whole(1),
  decodedBytes: whole(1),
  resultBytes: whole(1),
  queryColumns: whole(1),
  orderKeys: whole(1),
  growthBytes: whole(0),
  cacheBytes: whole(0),
  contentCache: (given) => {
    if (!isObject(given)) return 'an object such as { folder: "/var/cache/tabularium" }'
    checkOptions('contentCache', { folder: null, ...given }, cacheChecks, 'contentCache.')
    return undefined
  },
  threads: whole(0, maxThreads),
  openTransactions: (given) => void sessionLimitsOf(given as OpenTransactionOptions),
  concurrency: whole(1),
  optimize: (given) => {
    if (given === 'off' || given === 'background') return undefined
    if (!isObject(given)) return "'off', 'background', or an object such as { every: 64 }"
    checkOptions('optimize', given, optimizeChecks, 'optimize.')
    return undefined
  },
  // `NaN` would hold tables until a time that never comes.
  retainDropped: amount('milliseconds', tenYears),
  retention: (given) => void checkedRule(given as RetentionRule),
  onError: aFunction,
  now: aFunction,
  newId: aFunction,
}
