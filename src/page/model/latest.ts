import type { Identifier } from '../../base/model/identifier.ts'
import type { SubjectChange } from '../../base/model/subject-change.ts'
import { type CommittedChange, shownChange } from './affected-parts.ts'
import type { Route } from './route.ts'

/** A transaction in the response of `listTransactions`. */
export interface ListedTransaction {
  readonly transaction_id: string
  readonly operation: string
  readonly subject: readonly string[]
  readonly created_at: string
  readonly finished_at?: string
  readonly changes?: readonly SubjectChange[]
  readonly num_changes?: number
}

/** An entry in the list of the latest changes. */
export interface LatestChange {
  readonly key: string
  readonly millis: number
  readonly transaction: string
  readonly operation: string
  readonly id: Identifier
  /** The view of the subject, or of its transaction if the subject is gone; undefined if not known. */
  readonly route?: Route | undefined
  readonly version?: number | undefined
  /** The caller, if that is the caller of this page. */
  readonly by?: string | undefined
  /** How many further subjects of the same commit are not shown. */
  readonly further: number
}

/** The most subjects of one commit that are shown. */
const maxSubjects = 5
const maxShown = 100

/**
 * The latest changes, latest first. Older ones than those from the stream (`fromStream`) come from transactions
 * (`listed`). Of large ones, only the requested operation and subject are known.
 */
export function latestChanges(
  fromStream: readonly CommittedChange[],
  listed: readonly ListedTransaction[],
): readonly LatestChange[] {
  const known = new Set(fromStream.map(({ transaction_id }) => transaction_id))
  const parts = new Set(fromStream.flatMap(({ changes }) => changes.map((change) => change.transaction_id)))
  const before = listed
    .filter(({ transaction_id: id }) => !known.has(id) && !parts.has(id))
    .flatMap((transaction): LatestChange[] => {
      const { transaction_id, operation, subject, created_at, finished_at, changes, num_changes } =
        transaction
      const millis = Date.parse(finished_at ?? created_at)
      if (changes !== undefined)
        return shownOf({ timestamp_millis: millis, transaction_id, changes }, num_changes)
      return [
        { key: transaction_id, millis, transaction: transaction_id, operation, id: subject, further: 0 },
      ]
    })
  return [...fromStream.flatMap((change) => shownOf(change)), ...before].slice(0, maxShown)
}

function shownOf(
  { timestamp_millis: millis, transaction_id, principal, changes }: CommittedChange,
  count = changes.length,
): LatestChange[] {
  const shown = changes.slice(0, maxSubjects)
  return shown.map((change, index) => ({
    ...shownChange(change, transaction_id),
    key: `${transaction_id} ${index}`,
    millis,
    transaction: transaction_id,
    ...(principal !== undefined && { by: principal }),
    further: index === shown.length - 1 ? count - shown.length : 0,
  }))
}
