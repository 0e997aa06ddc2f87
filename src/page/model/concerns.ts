import type { Identifier } from '../../base/model/identifier.ts'
import { concernsSubject } from '../../catalog/operations/framework/visible-changes.ts'
import type { Place } from './place.ts'

/** The effect of a commit on one namespace or table, as in the stream of changes. */
export interface SubjectChange {
  readonly operation: string
  readonly kind: 'namespace' | 'table'
  readonly id: Identifier
  readonly effect: 'created' | 'replaced' | 'changed' | 'moved' | 'removed'
  readonly to?: Identifier
  readonly versions?: readonly { readonly branch?: string; readonly first: number; readonly last: number }[]
  /** Within a transaction of several operations: the id of the operation. */
  readonly transaction_id?: string
}

export interface CommittedChange {
  readonly timestamp_millis: number
  readonly transaction_id: string
  readonly changes: readonly SubjectChange[]
}

/** The parts of the page that a change affects. */
export interface Concerned {
  readonly namespaces: boolean
  readonly tables: boolean
  /** The open view. */
  readonly open: boolean
}

/** The parts of the page that a change affects. `listed` is the namespace whose tables are listed. */
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
  // The view of a namespace shows only names inside of it, so changes to their content do not affect it.
  const own = JSON.stringify(place.id)
  return (
    toNames.some((change) => concernsSubject(change, place.id)) ||
    changes.some(({ kind, id }) => kind === 'namespace' && JSON.stringify(id) === own)
  )
}

/** A change in a list: the current identifier of its subject, and its latest version, if any. */
export interface ShownChange {
  readonly operation: string
  readonly id: Identifier
  readonly place: Place
  readonly version?: number | undefined
}

/** Converts a change for a list. A removed subject links to the transaction that removed it. */
export function shownChange(change: SubjectChange, transaction: string): ShownChange {
  const { operation, kind, effect, versions } = change
  const id = change.to ?? change.id
  if (effect === 'removed' || id.length === 0)
    return { operation, id, place: { view: 'activity', transaction } }
  if (kind === 'namespace') return { operation, id, place: { view: 'namespace', id } }
  const { last: version, branch } = versions?.at(-1) ?? {}
  return { operation, id, version, place: { view: 'table', id, tab: 'versions', branch } }
}
