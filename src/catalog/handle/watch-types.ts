import type { Identity } from '../../base/model/fields.ts'
import type { Identifier } from '../../base/model/identifier.ts'
import type { SubjectChange, VersionSpan } from '../../base/model/subject-change.ts'
import type { Items } from './iteration/types.ts'

export type { SubjectChange, VersionSpan }

/** Which changes to go over. */
export interface WatchRequest {
  /** A namespace, with all that is below it, or a table. It need not be there yet. Default: the whole catalog. */
  readonly id?: Identifier | undefined
  /** The token of a change: the watch begins after it. Default: now. */
  readonly since?: string | undefined
  /** Ends the watch; `next()` then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined
  readonly identity?: Identity | undefined
  readonly context?: Readonly<Record<string, string>> | undefined
}

/** What one commit changed: an operation, a batch, or a transaction of many operations. */
export interface CommittedChange {
  /** The position after this change. Another watch with it as `since` goes on from there. */
  readonly token: string
  /** When it was committed, in milliseconds since the epoch, by the clock of the writer or of the store. */
  readonly timestamp_millis: number
  readonly transaction_id: string
  /** Who asked for it, if a server named the caller. A server hides it from other callers. */
  readonly principal?: string
  /** The id of the request that asked for it. A server hides it from other callers. */
  readonly request_id?: string
  /** What it did, in order. In a watch with an `id`, only what concerns that. */
  readonly changes: readonly SubjectChange[]
}

/** Goes over changes as they are committed. It ends when the catalog closes, or by `return()`. */
export interface Changes extends Items<CommittedChange> {
  /**
   * The token of the position that the watch has reached: the changes that it gives next are those after it. So a watch
   * that has given nothing yet returns the token for now.
   */
  token(): Promise<string>
  [Symbol.asyncIterator](): Changes
}

export interface Watching {
  /**
   * Goes over what is committed, by whichever process or server: each commit once, in the order of the commits. That
   * order is the same for all who watch. Without `since`, it begins now.
   *
   * ```ts
   * for await (const { token, changes } of catalog.watch({ id: ['prod'], since })) {
   *   for (const { effect, id, versions } of changes) …
   *   since = token
   * }
   * ```
   *
   * To know the state and all that follows, take `token()` of a watch, list, and then read that watch. Memory holds
   * some dozens of changes, however slow the reader is. Commits of this process come at once, those of others within a
   * second. Fails with `InvalidInput` for a token of another catalog. Fails with `TransactionNotFound` when changes
   * after the token were cleared already, as transaction records are. docs/changes.md has more.
   */
  watch(request?: WatchRequest): Changes
}
