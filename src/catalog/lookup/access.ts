import type { Identity } from '../../base/model/fields.ts'
import type { Identifier } from '../../base/model/identifier.ts'

/**
 * Asked before every operation. Returning false, or throwing, refuses it with `PermissionDenied`; a
 * `CatalogError` it throws is passed on as it is. Asked again for what a request names besides: the new name of a
 * renamed table, each item of a batch as if it was called alone, the table that a location or a transaction leads to, and
 * that in which a version of Lance has files.
 * Asked about `describeTable` and `describeNamespace` to find out which names and transactions the caller may learn of.
 */
export type AuthorizeHook = (asked: {
  readonly operation: string
  readonly changes: boolean
  readonly id: Identifier | undefined
  /**
   * The location that registerTable, declareTable or cloneTable names, in its normal spelling. Where a table of this catalog
   * lies at it, or did so until it was deregistered, `id` is that table's identifier when the hook is asked again.
   */
  readonly location?: string | undefined
  readonly identity: Identity | undefined
  readonly context: Readonly<Record<string, string>> | undefined
  readonly request: unknown
}) => unknown

/** The hook of a server, which is asked about what the catalog finds out. Rejects where the caller may not do that. */
export type CallerHook = (question: Question) => Promise<void>

/** A question to hooks: whether the caller may run an operation on an identifier. */
export interface Question {
  readonly operation: string
  readonly id: Identifier
  /** Whether that operation changes anything. */
  readonly changes: boolean
  /** The location through which the request reached it. */
  readonly location?: string | undefined
}

/** A namespace or a table, by its identifier. */
export interface Named {
  readonly kind: 'namespace' | 'table'
  readonly id: Identifier
}

/**
 * What the caller of one operation may do and see, as the hooks answered. {@link require} and {@link mayRead} are for
 * bodies of store transactions, which know for sure what a location or a transaction leads to. If a hook was not asked
 * yet, they throw {@link AccessUndecided}, and the operation runs again with the answer.
 */
export interface Access {
  /** Fails with what a hook answered, if one refuses. */
  require(questions: readonly Question[]): void
  /** For each namespace or table, whether the caller may see it. */
  mayRead(subjects: readonly Named[]): boolean[]
  /** Asks the hooks the new ones of these questions, so that bodies need not run again for them. */
  decide(questions: readonly Question[]): Promise<void>
}

/** Thrown when hooks have to be asked before an operation can go on. It runs again with their answers. */
export class AccessUndecided extends Error {
  readonly questions: readonly Question[]
  constructor(questions: readonly Question[]) {
    super('Hooks have to be asked first.')
    this.questions = questions
  }
}

/** The entry of a request's context that names the caller. A server sets it; a request over HTTP cannot. */
export const principalKey = 'principal'
