import type { Content } from '../../base/content/content.ts'
import type { Identifier } from '../../base/model/identifier.ts'
import type { RequestMemory, requestMemory } from '../../base/scheduling/request-memory.ts'
import type { Store } from '../../base/store/store.ts'
import type { RowsInput, RowsSource } from '../../engine/arrow/types.ts'
import type { LanceEngine } from '../../engine/lance/index.ts'
import type { TableEngine } from '../../engine/table/index.ts'
import type { LanceContext, LanceStaging } from '../lance/context.ts'
import type { LocationSettings } from '../locations/context.ts'
import type { ChangeInline } from '../locations/inline-objects.ts'
import type { Roots } from '../locations/locations.ts'
import type {
  LongWorkContext,
  LongWorkOptions,
  Staging,
  TransactionSettings,
} from '../transactions/context.ts'
import type { BranchAtWork, RowsStep, VersionRow } from './change-types.ts'
import type { ClientRules, clientRules, readsLance } from './client-rules.ts'
import type { TableEngineName } from './format.ts'

/** What work on rows needs of its catalog. */
export interface RowsContext extends LongWorkContext, Roots {
  /**
   * The engine that reads and writes rows in a content; loaded when first asked for.
   *
   * @internal Published types would need those of Arrow.
   */
  readonly engine: (content: Content) => Promise<TableEngine>
  /**
   * Lance, for rows that it wrote; loaded when first asked for.
   *
   * @internal As above.
   */
  readonly lance: () => Promise<LanceEngine>
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
  /**
   * The rows of writers that bring versions of their own, by the name of the table and the branch.
   *
   * @internal As above.
   */
  readonly versionRows: Map<string, VersionRow>
  /** Optimizes tables by itself, if the catalog is to. */
  readonly background?: Background
  readonly settings: RowsSettings
  readonly staging?: RowsStaging
}

/** What work on rows needs that Lance may have written. */
export interface AnyRowsContext extends RowsContext, LanceContext {
  readonly settings: RowsSettings & LocationSettings
  readonly staging?: RowsStaging & LanceStaging
}

/** What was set when the catalog was opened, as far as work on rows follows from it. */
export interface RowsSettings extends TransactionSettings {
  /** Who writes the rows of new tables. */
  readonly format: TableEngineName
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
}

/** As {@link Staging}, for changes of rows. */
export interface RowsStaging extends Staging {
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
  /**
   * The inserts that are answered, and whose rows are not written yet.
   *
   * @internal As above.
   */
  readonly appends: Appends
  /**
   * Keeps the small objects of all operations in a content. Undefined where they are files.
   *
   * @internal As above.
   */
  inlineOf(content: Content): ChangeInline | undefined
}

/** What work on rows needs inside of a transaction over many operations. */
export interface StagedRowsContext extends RowsContext {
  readonly staging: RowsStaging
}

/** Inserts of a transaction that may be answered before their rows are written. */
export interface Appends {
  /**
   * Holds an insert. Resolves to undefined if it cannot be held, also because it is wrong: the caller then does it
   * {@link alone}, and meets the error itself.
   */
  hold(core: StagedRowsContext, append: Append, options: RowsOptions): Promise<Held | undefined>
  /** Runs an operation that must not meet a held insert. All of them are written before. */
  alone<T>(work: () => Promise<T>): Promise<T>
}

export interface Append {
  readonly id: Identifier
  readonly branch: string
  readonly data: RowsInput | RowsSource
}

/** The answer to an insert that is held. */
export interface Held {
  readonly version: number
  readonly affected: number
  readonly transaction_id: string
}

/** What work on rows takes of the options of its operation. */
export interface RowsOptions extends LongWorkOptions {
  readonly [clientRules]?: ClientRules | undefined
  readonly [readsLance]?: boolean | undefined
  readonly [requestMemory]?: Partial<RequestMemory> | undefined
}

/** What a process knows of others that change a branch, in milliseconds of `performance.now`. */
export interface Contention {
  /** How long the process takes turns there. */
  readonly until: number
  /** When the process last asked. */
  readonly askedAt: number
}

/** Optimizes tables while others work on them. */
export interface Background {
  /** Notifies of a new version. Returns at once. */
  changed(table: { readonly id: Identifier; readonly branch: string }, version: number): void
  /** Stops the work under way. Nothing of it is committed. */
  stop(): Promise<void>
}
