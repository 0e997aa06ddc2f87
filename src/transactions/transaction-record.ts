import { CatalogError, invalid } from '../errors.ts'
import { lookUpNamespace, lookUpTable } from '../lookup/names.ts'
import { formatIdentifier, type Identifier, quote, sameNames } from '../model/identifier.ts'
import { keys, type TransactionRecord, type TransactionStatus } from '../store/records.ts'
import type { Reader } from '../store/store.ts'

/** How long a lease lasts, in milliseconds. A process that does not renew it in time counts as dead. */
export const leaseMillis = 60_000

/** The longest that an open transaction may ask to go without a request: an hour, in seconds. */
export const mostIdleSeconds = 3_600

/** What may become of a transaction. */
export const transactionStatuses = ['Queued', 'Running', 'Succeeded', 'Failed', 'Canceled'] as const

/** Why a transaction failed whose lease ended. */
export const lapsedMessage = 'The process that ran it ended, or was silent for too long, before it was done.'

/** Properties that the record itself provides, so callers cannot set them. */
const reservedProperties: ReadonlySet<string> = new Set([
  'id',
  'operation',
  'subject',
  'created_at',
  'finished_at',
  'failure',
  'failure_code',
])

/** Refuses a property that the record itself provides. */
export function refuseReserved(key: string): void {
  if (!reservedProperties.has(key)) return
  throw invalid(
    `The property ${quote(key)} tells what the transaction is and cannot be changed; choose another key.`,
  )
}

/**
 * The transaction that a request's `id` names: the transaction id alone, or behind the identifier of its table. One that
 * was begun for others to work in is there for the `caller` who began it only, and for callers without a name.
 */
export function findTransaction(
  reader: Reader,
  id: Identifier,
  caller?: string,
): { id: string; record: TransactionRecord } {
  const own = id.at(-1)
  const record = own === undefined ? undefined : reader.get<TransactionRecord>(keys.transaction(own))
  const subject = id.slice(0, -1)
  const isThere = record !== undefined && !isOfOther(record, caller) && concerns(reader, subject, record)
  if (own === undefined || !isThere) throw transactionNotFound(own, subject)
  return { id: own, record }
}

/** Whether a transaction was begun for others to work in, by another caller than this one, if that has a name. */
export function isOfOther({ session }: TransactionRecord, caller: string | undefined): boolean {
  return caller !== undefined && session !== undefined && session.owner !== caller
}

/** The error for a transaction that is unknown, or not the caller's. */
export function transactionNotFound(id: string | undefined, subject: Identifier = []): CatalogError {
  return new CatalogError(
    'TransactionNotFound',
    id === undefined
      ? 'The id is empty; give the transaction_id of a response, alone or after the identifier of its table.'
      : `There is no transaction ${quote(id)}${subject.length > 0 ? ` of ${formatIdentifier(subject)}` : ''}. Records are kept for a limited time; check the transaction_id.`,
  )
}

/**
 * Whether a transaction may be requested under an identifier. That is the current identifier of its table or
 * namespace, or the one at the time while nothing else has it. A batch is found under the tables that it changed and
 * that are still there.
 */
function concerns(reader: Reader, subject: Identifier, record: TransactionRecord): boolean {
  if (subject.length === 0) return true
  const now = lookUpTable(reader, subject)?.id ?? lookUpNamespace(reader, subject)
  if (record.subject.length === 0) return now !== undefined && record.subject_ids?.includes(now) === true
  if (now === undefined || record.subject_id === undefined) return sameNames(subject, record.subject)
  return now === record.subject_id
}

/** The status to report: a transaction whose process died while it was running counts as failed. */
export function statusOf(record: TransactionRecord, now: number): TransactionStatus {
  const isExpired = !isFinished(record.status) && record.lease_until !== undefined && record.lease_until < now
  return isExpired ? 'Failed' : record.status
}

export function isFinished(status: TransactionStatus): boolean {
  return status === 'Succeeded' || status === 'Failed' || status === 'Canceled'
}

/** The properties to report: those that callers set, and those that the record itself provides. */
export function propertiesOf(id: string, record: TransactionRecord, now: number): Record<string, string> {
  const properties: Record<string, string> = {
    ...record.properties,
    id,
    operation: record.operation,
    subject: formatIdentifier(record.subject),
    created_at: new Date(record.created_at).toISOString(),
  }
  if (record.finished_at !== undefined) properties.finished_at = new Date(record.finished_at).toISOString()
  if (record.failure) {
    properties.failure = record.failure.message
    properties.failure_code = record.failure.code
  } else if (statusOf(record, now) !== record.status) {
    properties.failure = lapsedMessage
  }
  return properties
}
