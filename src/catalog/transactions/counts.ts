/**
 * What an open catalog counts while it works: additions only, so that a change takes no longer for it. All handles of
 * one core share the object.
 */
export interface Counts {
  /** Changes that were committed: each by itself, a batch, or a transaction as a whole. */
  commits: number
  /** Operations that began again, since others had replaced the table that they were about. */
  lostOperations: number
  /** Changes of rows that were written again, on top of a version that others committed first. */
  lostRows: number
  /** Runs of transactions that came to nothing, since others had changed what they read. */
  lostTransactions: number
  /** Transactions over several operations that are open in this process. */
  openTransactions: number
  /** How often work asked for a turn among processes, and how long it waited for that in all. */
  turnWaits: number
  turnWaitMillis: number
}

export function newCounts(): Counts {
  return {
    commits: 0,
    lostOperations: 0,
    lostRows: 0,
    lostTransactions: 0,
    openTransactions: 0,
    turnWaits: 0,
    turnWaitMillis: 0,
  }
}
