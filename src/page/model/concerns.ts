import type { Identifier } from '../../base/model/identifier.ts'
import { concernsSubject } from '../../catalog/operations/framework/visible-changes.ts'
import type { Place } from './place.ts'

/** What a commit did to one namespace or table, as the stream of changes tells it. */
export interface SubjectChange {
  readonly operation: string
  readonly kind: 'namespace' | 'table'
  readonly id: Identifier
  readonly effect: 'created' | 'replaced' | 'changed' | 'moved' | 'removed'
  readonly to?: Identifier
  readonly versions?: readonly { readonly branch?: string; readonly first: number; readonly last: number }[]
  /** Within a transaction over many operations: the id of the operation. */
  readonly transaction_id?: string
}

export interface CommittedChange {
  readonly timestamp_millis: number
  readonly transaction_id: string
  readonly changes: readonly SubjectChange[]
}

/** The parts of the page that show what a change is about. */
export interface Concerned {
  readonly namespaces: boolean
  readonly tables: boolean
  /** The namespace or table that is open. */
  readonly open: boolean
}

/** Which parts of the page a change concerns. `listed` is the namespace whose tables are listed. */
export function concernedBy(changes: readonly SubjectChange[], place: Place, listed: Identifier): Concerned {
  const toNames = changes.filter(({ effect }) => effect !== 'changed')
  return {
    namespaces: toNames.some(({ kind }) => kind === 'namespace'),
    tables: toNames.some((change) => concernsSubject(change, listed)),
    open: concernsOpen(changes, toNames, place),
  }
}

function concernsOpen(
  changes: readonly SubjectChange[],
  toNames: readonly SubjectChange[],
  place: Place,
): boolean {
  if (place.view === 'activity') return true
  if (place.view === 'table') return changes.some((change) => concernsSubject(change, place.id))
  // What is in a namespace is listed elsewhere: of tables that change, a namespace tells nothing.
  const own = JSON.stringify(place.id)
  return (
    toNames.some((change) => concernsSubject(change, place.id)) ||
    changes.some(({ kind, id }) => kind === 'namespace' && JSON.stringify(id) === own)
  )
}

/** A change as a list tells it: where its subject is now, and its latest version, as far as it has one. */
export interface ShownChange {
  readonly operation: string
  readonly id: Identifier
  readonly place: Place
  readonly version?: number | undefined
}

/** A change as a list tells it. What is gone leads to the transaction that removed it. */
export function shownChange(change: SubjectChange, transaction: string): ShownChange {
  const { operation, kind, effect, versions } = change
  const id = change.to ?? change.id
  if (effect === 'removed' || id.length === 0)
    return { operation, id, place: { view: 'activity', transaction } }
  if (kind === 'namespace') return { operation, id, place: { view: 'namespace', id } }
  const { last: version, branch } = versions?.at(-1) ?? {}
  return { operation, id, version, place: { view: 'table', id, tab: 'versions', branch } }
}
