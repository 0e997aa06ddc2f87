import type { Content } from '../../base/content/content.ts'
import type { CatalogError } from '../../base/errors.ts'
import type { Identity } from '../../base/model/fields.ts'
import type { Identifier } from '../../base/model/identifier.ts'
import type { Semaphore } from '../../base/scheduling/semaphore.ts'
import type {
  CatalogRecord,
  Origin,
  RemovalRecord,
  SessionServer,
  TransactionRecord,
} from '../../base/store/records.ts'
import type { Store } from '../../base/store/store.ts'
import type { CacheUse, TableEngine } from '../../engine/table/index.ts'
import type { ContentRoot } from '../locations/locations.ts'
import type { AuthorizeHook } from '../operations/framework/authorize.ts'
import type { Isolation } from '../operations/framework/inside.ts'
import type { AnyOperation, OperationOptions } from '../operations/framework/operation.ts'
import type { Background } from '../rows/background.ts'
import type { BranchAtWork } from '../rows/commit-waiting.ts'
import type { Contention } from '../rows/contention.ts'
import type { RowsStep } from '../rows/rebase.ts'
import type { Counts } from '../transactions/counts.ts'
import type { Feed } from '../transactions/feed.ts'
import type { Heartbeat } from '../transactions/heartbeat.ts'
import type { Upkeep } from '../transactions/upkeep.ts'

/** Everything an operation works with: the parts of an open catalog. */
export interface Core {
  readonly store: Store
  readonly catalog: CatalogRecord
  /** Where the content of tables lies. */
  readonly contentRoots: readonly ContentRoot[]
  /**
   * The engine that reads and writes rows in a content; loaded when first asked for.
   *
   * @internal Published types would need those of Arrow.
   */
  readonly engine: (content: Content) => Promise<TableEngine>
  /** Ends what engines keep running: their worker threads. */
  readonly closeEngines: () => Promise<void>
  /**
   * What the engines that were loaded keep in memory.
   *
   * @internal Published types would need those of Arrow.
   */
  readonly cacheUse: () => CacheUse
  /** How often what engines read of content was in the cache on disk, and how often not. Undefined without such a cache. */
  readonly diskCacheUse: () => { readonly hits: number; readonly misses: number } | undefined
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** A new internal id, later ones sorting after earlier ones. */
  readonly newId: () => string
  /** A new internal id of a table, which its location shows: it cannot be guessed from any other id. */
  readonly newTableId: () => string
  readonly settings: Settings
  /** Work on rows under way in this process, by transaction id: calling it stops the work. */
  readonly running: Map<string, () => void>
  /** What was counted since the catalog was opened. */
  readonly counts: Counts
  /** Renews the leases of work under way, and notices when others cancel it. */
  readonly heartbeat: Heartbeat
  /** Runs work under one key one after the other. */
  readonly inTurn: <T>(key: string, work: () => Promise<T>) => Promise<T>
  /**
   * The branches whose rows are being changed in this process, by the id of the table and the name of the branch.
   *
   * @internal Published types would need those of Arrow.
   */
  readonly branches: Map<string, BranchAtWork>
  /**
   * What is known of other processes that change rows of the same branches, by the same key, the oldest first.
   *
   * @internal As above.
   */
  readonly contended: Map<string, Contention>
  /** How much work on rows runs at once. */
  readonly slots: Semaphore
  /** Optimizes tables by itself, if the catalog is to. */
  readonly background?: Background
  /** Clears old transaction records now and then, and finishes what dead processes left. */
  readonly upkeep: Upkeep
  /** What commits changed, in their order. */
  readonly feed: Feed
  /** The caller and the request of the current operation, if a server named them. */
  readonly origin?: Origin
  /** What the caller may do and see, where hooks decide that. */
  readonly access?: Access
  /** The sessions: transactions that were begun here, until they are committed or rolled back. */
  readonly sessions: SessionSource
  /** Set inside of a transaction over many operations, whose store stages changes until the commit. */
  readonly staging?: Staging
}

/** A question to hooks: whether the caller may run an operation on an identifier. */
export interface Question {
  readonly operation: string
  readonly id: Identifier
  /** Whether that operation changes anything. */
  readonly changes: boolean
  /** The location through which the request reached it. */
  readonly location?: string | undefined
}

/**
 * What the caller of one operation may do and see, as the hooks answered. {@link require} and {@link mayRead} are for
 * bodies of store transactions, which know for sure what a location or a transaction leads to. If a hook was not asked
 * yet, they throw `AccessUndecided`, and the operation runs again with the answer.
 */
export interface Access {
  /** Fails with what a hook answered, if one refuses. */
  require(questions: readonly Question[]): void
  /** For each namespace or table, whether the caller may see it. */
  mayRead(subjects: readonly Named[]): boolean[]
  /** Asks the hooks the new ones of these questions, so that bodies need not run again for them. */
  decide(questions: readonly Question[]): Promise<void>
}

/** A namespace or a table, by its identifier. */
export interface Named {
  readonly kind: 'namespace' | 'table'
  readonly id: Identifier
}

/** What operations inside of a transaction defer to its commit. */
export interface Staging {
  readonly transactionId: string
  /** The ordinal of the next operation that changes something. */
  nextOrdinal(): number
  /** The catalog outside of the transaction. */
  readonly outside: Core
  /** Adds a participant from outside of the store to the commit. */
  join(participant: Participant): void
  /** Runs work outside of the store after the commit, and never without one. */
  afterCommit(work: (core: Core) => unknown): void
  /**
   * The store for a change of rows: the commit does not compare the branch heads that it reads, except after `harden`.
   */
  partialReads(): { readonly store: Store; harden(): void }
  /**
   * Notes a change of rows, which the commit rebases onto what others commit first.
   *
   * @internal Published types would need those of Arrow.
   */
  changed(step: RowsStep): void
  /** The error for a location whose content is still to be removed: no operation inside can wait for that. */
  busy(removal: RemovalRecord, error: Error): Error
}

/** Loads the sessions of a catalog when they are first needed. */
export interface SessionSource {
  of(core: Core): Promise<Sessions>
  /** Rolls open sessions back. A later {@link of} loads them again. */
  close(): Promise<void>
}

/** A caller, as a server named it; undefined where callers have no names. */
export type SessionOwner = string | undefined

/**
 * The transactions that are open in this process. Each belongs to the caller who began it, and is hidden from others.
 */
export interface Sessions {
  begin(
    owner: SessionOwner,
    given: {
      readonly idleSeconds?: number | undefined
      readonly isolation?: Isolation | undefined
      readonly properties: Readonly<Record<string, string>>
      /** The transaction that this one retries. It must be the caller's, and must have ended without a commit. */
      readonly retryOf?: string | undefined
      /** Cancels it while it waits for turns. */
      readonly signal?: AbortSignal | undefined
      /** The server of the request, if other servers can reach it. */
      readonly server?: SessionServer | undefined
    },
  ): Promise<{ readonly id: string; readonly idleSeconds: number }>
  run(
    id: string,
    owner: SessionOwner,
    operation: AnyOperation,
    request: unknown,
    options: OperationOptions,
  ): Promise<unknown>
  /** Commits, unless that is done already. When it fails, nothing of the transaction is committed. */
  commit(id: string, owner: SessionOwner): Promise<TransactionRecord | undefined>
  /** Ends one as if its idle timeout had passed. Does nothing when it is not open. */
  expire(id: string): Promise<void>
  /** The server that holds a caller's transaction, if it is another one, and how long its lease lasts. */
  serverOf(
    id: string,
    owner: SessionOwner,
  ): Promise<{ readonly server: SessionServer; readonly leaseMillis: number } | undefined>
  /** Records that the server of a transaction has ended, so that it can no longer commit. A committed one stays so. */
  serverEnded(id: string, server: SessionServer): Promise<void>
  /** The error for an operation in a transaction that is not open here. */
  refusal(id: string, owner: SessionOwner): Promise<CatalogError>
  /** Rolls back; with `failure`, it is recorded as Failed. A failed one stays so. Fails when it is committed. */
  rollback(id: string, owner: SessionOwner, failure: TransactionRecord['failure']): Promise<TransactionRecord>
}

/** Something outside of the store that becomes visible with a transaction, or never. */
export interface Participant {
  /** Prepares, right before the commit. A `ConcurrentModification` counts as a lost race. */
  prepare(): Promise<void>
  /** Makes it visible, right after the commit. An error reaches the caller of a transaction that is committed. */
  committed(): Promise<void>
  /** Cleans up when the run was given up or its commit failed. That commit may have succeeded all the same. */
  givenUp(): Promise<void>
}

export interface Settings {
  /** Nothing may be written: no record and no content. */
  readonly readOnly: boolean
  /** How the database differs from the one that the catalog lives in, where it is a copy of that one. */
  readonly copy?: string | undefined
  /** Whether clients are to keep table versions through the catalog. */
  readonly managedVersioning: boolean
  /** Asked for what a client needs to reach a table's location. */
  readonly storageOptions: StorageOptionsHook | undefined
  /** Asked whether an operation may run. */
  readonly authorize: AuthorizeHook | undefined
  /** The URL, without a slash at its end, below which locations of new tables are chosen; else the own root. */
  readonly tableRoot: string | undefined
  /** The same for tables that are declared, if these lie elsewhere. */
  readonly declaredRoot?: string | undefined
  /** Most bytes of rows in one request. */
  readonly arrowBytes: number
  /** Most bytes of these rows once they are decoded. */
  readonly decodedBytes: number
  /** Most bytes of rows in one answer. */
  readonly resultBytes: number
  /** Most columns that one query may name. */
  readonly queryColumns: number
  /** Most keys that one query may sort by. */
  readonly orderKeys: number
  /** How long the record of a finished transaction is kept, in milliseconds. */
  readonly transactionAge: number
  /** How many transaction records are kept. */
  readonly transactionCount: number
}

/**
 * Answers with the options and credentials that let a client read or write at `location`, such as a
 * short-lived token; undefined when nothing is needed.
 */
export type StorageOptionsHook = (
  location: string,
  request: {
    readonly id: Identifier
    readonly identity?: Identity | undefined
    readonly context?: Readonly<Record<string, string>> | undefined
  },
) => Promise<Readonly<Record<string, string>> | undefined> | Readonly<Record<string, string>> | undefined
