import type { Key as LmdbKey } from 'lmdb'
import { encodeValue } from './encode-value.ts'
import type { Environment } from './environment.ts'

/** The key of the state. It is a symbol, which no catalog uses as a key, and which ranges skip. */
export const stateKey = Symbol.for('state') as LmdbKey

/**
 * The id of the last transaction that changed a record, by any process; undefined in a file without such a
 * transaction. The id is itself a record, so a reader gets the id of its own snapshot. LMDB's own number of the last
 * transaction is ahead of what readers see, until the last sync of that transaction is done.
 */
export function readState({ db }: Environment): number | undefined {
  db.resetReadTxn()
  return db.get(stateKey) as number | undefined
}

/** Sets the state within a transaction with changes. Transactions that share a commit set it only once. */
export function markState(environment: Environment): void {
  const { db } = environment
  const id = db.getWriteTxnId()
  if (id === environment.marked) return
  // The transaction's own promise reports a failure.
  void db.put(stateKey, encodeValue([stateKey as unknown as string], id))
  environment.marked = id
}
