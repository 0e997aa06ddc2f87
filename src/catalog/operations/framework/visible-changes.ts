import type { Identifier } from '../../../base/model/identifier.ts'
import type { SubjectChange } from '../../../base/model/subject-change.ts'

/** Whether a caller may see a subject, asked as the operation that describes it. */
export type MayRead = (
  operation: 'describeTable' | 'describeNamespace',
  id: Identifier,
) => boolean | Promise<boolean>

/**
 * The changes as a caller may see them. A table that moved to where the caller may not see it appears as removed, and
 * one that moved from there appears as created.
 */
export async function visibleChanges(
  changes: readonly SubjectChange[],
  mayRead: MayRead,
): Promise<SubjectChange[]> {
  const visible: SubjectChange[] = []
  for (const change of changes) {
    const operation = change.kind === 'table' ? 'describeTable' : 'describeNamespace'
    const mayReadId = await mayRead(operation, change.id)
    const shown = visibleChange(change, mayReadId, change.to && (await mayRead(operation, change.to)))
    if (shown !== undefined) visible.push(shown)
  }
  return visible
}

/** One change as a caller may see it, who may see its identifiers or not; undefined when it stays hidden. */
export function visibleChange(
  change: SubjectChange,
  mayReadId: boolean,
  mayReadTo: boolean | undefined,
): SubjectChange | undefined {
  const { to } = change
  if (to !== undefined && mayReadTo) return mayReadId ? change : asCreated(change, to)
  if (!mayReadId) return undefined
  return to === undefined ? change : asRemoved(change)
}

function asCreated({ to: _, ...change }: SubjectChange, id: Identifier): SubjectChange {
  return { ...change, id, effect: 'created' }
}

function asRemoved({ operation, kind, id, transaction_id }: SubjectChange): SubjectChange {
  return { operation, kind, id, effect: 'removed', ...(transaction_id !== undefined && { transaction_id }) }
}
