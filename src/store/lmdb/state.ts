import type { Key as LmdbKey } from 'lmdb'
import { encodeValue } from './encode-value.ts'
import type { Environment } from './environment.ts'

/** Where the state is kept: ranges pass over a symbol, and no key of a catalog is one. */
const stateKey = Symbol.for('state') as LmdbKey

/**
 * The id of the last transaction that changed a record, whichever process made it; undefined in a file without
 * one. It is a record like others, so that it comes with the snapshot it is read in. What LMDB itself says its
 * last transaction was is ahead of what readers get, for as long as that transaction's last sync takes.
 */
export function readState({ db }: Environment): number | undefined {
  db.resetReadTxn()
  return db.get(stateKey) as number | undefined
}

/** Sets the state within a transaction that changes something. One time does for all that share a commit. */
export function markState(environment: Environment): void {
  const { db } = environment
  const id = db.getWriteTxnId()
  if (id === environment.marked) return
  db.put(stateKey, encodeValue([stateKey as unknown as string], id))
  environment.marked = id
}
