import { keys } from '../../base/store/records.ts'
import type { Reader } from '../../base/store/store.ts'

/** Records that are more than the catalog keeps, and wait for the upkeep. */
export interface Backlog {
  /** Records of transactions, to the precision of a mark: about a hundredth of those that are kept. */
  readonly transactions: number
  /** Entries of the feed of changes. */
  readonly changes: number
}

/** Marks that are read at most: ten times as many as there are where nothing waits. */
const mostMarks = 1_000

/**
 * How many records are more than `transactionCount`, from the first and the last keys: no walk over the records. Where
 * ten times as many wait as are kept, it may be more.
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
