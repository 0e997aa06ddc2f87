import { type Identifier, isWithin } from './identifier.ts'

/** Versions of one branch, from the first through the last. Without `branch`, those of the main branch. */
export interface VersionSpan {
  readonly branch?: string
  readonly first: number
  readonly last: number
}

/** What a commit did to one namespace or table. */
export interface SubjectChange {
  /** The operation that did it, such as `InsertIntoTable`. */
  readonly operation: string
  readonly kind: 'namespace' | 'table'
  /** The identifier before the change; of a new subject, its first one. */
  readonly id: readonly string[]
  /**
   * `created`, `replaced` and `removed` replace or remove everything at the identifier and below it. After `moved`, the
   * subject has the identifier `to`.
   */
  readonly effect: 'created' | 'replaced' | 'changed' | 'moved' | 'removed'
  readonly to?: readonly string[]
  /** The created versions. */
  readonly versions?: readonly VersionSpan[]
  readonly removed_versions?: readonly VersionSpan[]
  /** The tags that were set. */
  readonly tags?: readonly { readonly name: string; readonly branch?: string; readonly version: number }[]
  readonly removed_tags?: readonly string[]
  /** The created branches. */
  readonly branches?: readonly string[]
  readonly removed_branches?: readonly string[]
  /** Within a transaction over many operations: the id under which the operation can be described. */
  readonly transaction_id?: string
}

/** Whether a change concerns what is at an identifier or below it. */
export function affectsSubject({ id, to, effect }: SubjectChange, watched: Identifier): boolean {
  if (isWithin(id, watched) || (to !== undefined && isWithin(to, watched))) return true
  // A removal or a move affects all that is below.
  return effect !== 'changed' && isWithin(watched, id)
}
