import { keys } from '../../base/store/records.ts'
import type { Reader } from '../../base/store/store.ts'

/** Records beyond what the catalog keeps. The upkeep removes them. */
export interface Backlog {
  /** Transaction records, counted in marks: precise to about a hundredth of the number that is kept. */
  readonly transactions: number
  /** Entries of the feed of changes. */
  readonly changes: number
}

/** The most marks that are read: ten times as many as there are without a backlog. */
const mostMarks = 1_000

/**
 * Counts the records beyond `transactionCount` from the first and last keys, without a walk over all records. The
 * result is a lower bound once ten times as many records wait as are kept.
 */
export function backlogOf(reader: Reader, transactionCount: number): Backlog {
  const [first] = reader.range({ prefix: keys.transactions, limit: 1, keysOnly: true })
  const [oldest] = reader.range({ prefix: keys.feed, limit: 1, keysOnly: true })
  const [newest] = reader.range({ prefix: keys.feed, limit: 1, keysOnly: true, reverse: true })
  const marks = [...reader.range<number>({ prefix: keys.marks, limit: mostMarks, reverse: true })]
  let kept = 0
  let transactions = 0
  for (const { key, value } of marks) {
    // The last mark to be cleared stays when its records are gone.
    if (kept < transactionCount) kept += value
    else if (first !== undefined && String(first.key[1]) <= String(key[1])) transactions += value
  }
  // The last entry stays, however few are kept.
  const entries = oldest && newest ? Number(newest.key[1]) - Number(oldest.key[1]) + 1 : 0
  return { transactions, changes: Math.max(0, entries - Math.max(1, transactionCount)) }
}
