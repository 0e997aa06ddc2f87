import type { Content } from '../../base/content/content.ts'
import type { Identifier } from '../../base/model/identifier.ts'
import type { RequestMemory, requestMemory } from '../../base/scheduling/request-memory.ts'
import type { Store } from '../../base/store/store.ts'
import type { TableEngine } from '../../engine/table/index.ts'
import type { ChangeInline } from '../locations/inline-objects.ts'
import type { Roots } from '../locations/locations.ts'
import type {
  LongWorkContext,
  LongWorkOptions,
  Staging,
  TransactionSettings,
} from '../transactions/context.ts'
import type { BranchAtWork, RowsStep, VersionRow } from './change-types.ts'
import type { ClientRules, clientRules } from './client-rules.ts'

/** What work on rows needs of its catalog. */
export interface RowsContext extends LongWorkContext, Roots {
  /**
   * The engine that reads and writes rows in a content; loaded when first asked for.
   *
   * @internal Published types would need those of Arrow.
   */
  readonly engine: (content: Content) => Promise<TableEngine>
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
  /** The rows of writers that bring versions of their own, by the name of the table and the branch. */
  readonly versionRows: Map<string, VersionRow>
  /** Optimizes tables by itself, if the catalog is to. */
  readonly background?: Background
  readonly settings: RowsSettings
  readonly staging?: RowsStaging
}

/** What was set when the catalog was opened, as far as work on rows follows from it. */
export interface RowsSettings extends TransactionSettings {
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
   * Keeps the small objects of all operations in a content. Undefined where they are files.
   *
   * @internal As above.
   */
  inlineOf(content: Content): ChangeInline | undefined
}

/** What work on rows takes of the options of its operation. */
export interface RowsOptions extends LongWorkOptions {
  readonly [clientRules]?: ClientRules | undefined
  readonly [requestMemory]?: RequestMemory | undefined
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
