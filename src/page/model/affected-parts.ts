import type { Identifier } from '../../base/model/identifier.ts'
import { affectsSubject, type SubjectChange } from '../../base/model/subject-change.ts'
import type { Route } from './route.ts'

export interface CommittedChange {
  readonly timestamp_millis: number
  readonly transaction_id: string
  /** The caller, if that is the caller of this page. A server names no others. */
  readonly principal?: string
  readonly changes: readonly SubjectChange[]
}

/** The parts of the page that a change affects. */
export interface AffectedParts {
  readonly namespaces: boolean
  readonly tables: boolean
  /** The open view. */
  readonly open: boolean
}

/** The parts of the page that a change affects. `listed` is the namespace whose tables are listed. */
export function affectedParts(
  changes: readonly SubjectChange[],
  route: Route,
  listed: Identifier,
): AffectedParts {
  const toNames = changes.filter(({ effect }) => effect !== 'changed')
  return {
    namespaces: toNames.some(({ kind }) => kind === 'namespace'),
    tables: toNames.some((change) => affectsSubject(change, listed)),
    open: affectsOpenView(changes, toNames, route),
  }
}

function affectsOpenView(
  changes: readonly SubjectChange[],
  toNames: readonly SubjectChange[],
  route: Route,
): boolean {
  if (route.view === 'activity') return true
  if (route.view === 'table') return changes.some((change) => affectsSubject(change, route.id))
  // The view of a namespace shows only names inside of it, so changes to their content do not affect it.
  const own = JSON.stringify(route.id)
  return (
    toNames.some((change) => affectsSubject(change, route.id)) ||
    changes.some(({ kind, id }) => kind === 'namespace' && JSON.stringify(id) === own)
  )
}

/** A change in a list: the current identifier of its subject, and its latest version, if any. */
export interface ShownChange {
  readonly operation: string
  readonly id: Identifier
  readonly route: Route
  readonly version?: number | undefined
}

/** Converts a change for a list. A removed subject links to the transaction that removed it. */
export function shownChange(change: SubjectChange, transaction: string): ShownChange {
  const { operation, kind, effect, versions } = change
  const id = change.to ?? change.id
  if (effect === 'removed' || id.length === 0)
    return { operation, id, route: { view: 'activity', transaction } }
  if (kind === 'namespace') return { operation, id, route: { view: 'namespace', id } }
  const { last: version, branch } = versions?.at(-1) ?? {}
  return { operation, id, version, route: { view: 'table', id, tab: 'versions', branch } }
}
