import { CatalogError, invalid } from '../../base/errors.ts'
import type { TransactionRecord } from '../../base/store/records.ts'
import { canceled } from '../transactions/long-transaction.ts'
import { lapsedMessage } from '../transactions/transaction-record.ts'

/**
 * The error for a transaction that lost a race. Its `transaction_id` shows clients that the whole transaction failed.
 */
export function lostRace(id: string, cause?: unknown): CatalogError {
  return new CatalogError(
    'ConcurrentModification',
    `Others changed what the transaction ${id} read, so nothing of it was committed. Begin another one, and do all of it again.`,
    { cause, transaction_id: id },
  )
}

/** The error for an operation that comes after the commit. */
export function committed(id: string): CatalogError {
  return invalid(
    `The transaction ${id} is committed, and takes no operations any more. Begin another one with beginTransaction.`,
  )
}

/** The failure of a transaction whose idle timeout has passed. */
export function expired(idle: number): CatalogError {
  return new CatalogError(
    'TransactionNotFound',
    `No request came for ${(idle / 1_000).toLocaleString('en')} seconds, so it has expired.`,
  )
}

/** The failure of a transaction whose server has ended. */
export const serverGone: NonNullable<TransactionRecord['failure']> = {
  code: 'ServiceUnavailable',
  message: 'The server that held it has ended, or another one answers at the address that it advertised.',
}

/** The error for a transaction that is not open here, from its record. */
export function notOpen(
  id: string,
  { status, failure, session }: Pick<TransactionRecord, 'status' | 'failure' | 'session'>,
): CatalogError {
  const about = { transaction_id: id }
  if (status === 'Canceled') return Object.assign(canceled(id), about)
  if (failure?.code === 'ConcurrentModification') return lostRace(id)
  const why =
    status === 'Failed'
      ? `has ended without a commit. ${failure?.message ?? lapsedMessage} Begin another one.`
      : `is not open in this process. ${session?.server ? elsewhere : unadvertised}`
  return new CatalogError('TransactionNotFound', `The transaction ${id} ${why}`, about)
}

const elsewhere =
  'Send its requests to a server, which passes them on to the one that holds it. From another machine, that one needs an address: see --advertise of tabularium serve.'

const unadvertised =
  'It was begun by a process that other servers cannot reach. Send its requests to that process, or start each server with --advertise (the option advertise) and begin another one.'

/** The error for the retry of a transaction that may still be committed. */
export function stillOpen(id: string): CatalogError {
  return invalid(
    `The transaction ${id} is still open, so another one cannot do it again. Roll it back first, or commit it.`,
  )
}

/** The error for the retry of a committed transaction. */
export function doneAlready(id: string): CatalogError {
  return new CatalogError(
    'ConcurrentModification',
    `The transaction ${id} is committed, so nothing has to be done again. For other work, leave retry_of out.`,
  )
}

/** The error for the rollback of a committed transaction. */
export function staysCommitted(id: string): CatalogError {
  return new CatalogError(
    'ConcurrentModification',
    `The transaction ${id} is committed and stays so. Undo its changes one by one instead.`,
    { transaction_id: id },
  )
}

/** The error for too many open transactions. */
export function tooMany(which: string): CatalogError {
  return new CatalogError(
    'Throttling',
    `${which}, which is the most. Commit or give up some, or wait until those that nobody uses expire.`,
  )
}

/** The error for open transactions that hold too many bytes. */
export function noRoom(problem: string): CatalogError {
  return new CatalogError(
    'Throttling',
    `${problem}, which is the most. Commit or give up some, or try again later.`,
  )
}
