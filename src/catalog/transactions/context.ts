import type { Semaphore } from '../../base/scheduling/semaphore.ts'
import type { Origin } from '../../base/store/records.ts'
import type { Store } from '../../base/store/store.ts'
import type { Counts } from './counts.ts'
import type { Feed } from './feed.ts'
import type { Heartbeat } from './heartbeat.ts'
import type { recordedFirst } from './retry.ts'
import type { Upkeep } from './upkeep.ts'

/** What a commit needs of its catalog. */
export interface CommitContext {
  readonly store: Store
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** A new internal id, later ones sorting after earlier ones. */
  readonly newId: () => string
  /** What was counted since the catalog was opened. */
  readonly counts: Counts
  /** What commits changed, in their order. */
  readonly feed: Feed
  /** Clears old transaction records now and then, and finishes what dead processes left. */
  readonly upkeep: Upkeep
  readonly settings: TransactionSettings
  /** The caller and the request of the current operation, if a server named them. */
  readonly origin?: Origin
  /** Set inside of a transaction over many operations, whose store stages changes until the commit. */
  readonly staging?: Staging
}

/** What long work needs of its catalog. */
export interface LongWorkContext extends CommitContext {
  /** Renews the leases of work under way, and notices when others cancel it. */
  readonly heartbeat: Heartbeat
  /** Work under way in this process, by transaction id. */
  readonly running: Map<string, RunningWork>
  /** How much work on rows runs at once. */
  readonly slots: Semaphore
}

/** Work under way in this process. */
export interface RunningWork {
  stop(): void
  /** Resolves once its record is written. Undefined while nobody knows its id. */
  readonly recorded: Promise<unknown> | undefined
}

/** What long work takes of the options of its operation. */
export interface LongWorkOptions {
  readonly signal?: AbortSignal | undefined
  readonly onProgress?:
    | ((progress: { readonly transaction_id: string; readonly rows: number; readonly total: number }) => void)
    | undefined
  readonly [recordedFirst]?: boolean | undefined
}

/** What was set when the catalog was opened, as far as transactions follow from it. */
export interface TransactionSettings {
  /** Nothing may be written: no record and no content. */
  readonly readOnly: boolean
  /** How long the record of a finished transaction is kept, in milliseconds. */
  readonly transactionAge: number
  /** How many transaction records are kept. */
  readonly transactionCount: number
}

/** What operations inside of a transaction defer to its commit. */
export interface Staging {
  readonly transactionId: string
  /** The ordinal of the next operation that changes something. */
  nextOrdinal(): number
  /** The catalog outside of the transaction. */
  readonly outside: CommitContext
  /** Adds a participant from outside of the store to the commit. */
  join(participant: Participant): void
  /** Runs work outside of the store after the commit, and never without one. */
  afterCommit(work: () => unknown): void
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
