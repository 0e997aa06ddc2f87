import { CatalogError, invalid } from '../../base/errors.ts'
import { formatIdentifier, type Identifier, quote, sameNames } from '../../base/model/identifier.ts'
import { keys, type TransactionRecord, type TransactionStatus } from '../../base/store/records.ts'
import type { Reader } from '../../base/store/store.ts'
import type { Access, Named, Question } from '../lookup/access.ts'
import { identifierOf, lookUpNamespace, lookUpTable, tableById } from '../lookup/names.ts'

/** How long a lease lasts, in milliseconds. A process that does not renew it in time counts as dead. */
export const leaseMillis = 60_000

/** The longest that an open transaction may ask to go without a request: an hour, in seconds. */
export const maxIdleSeconds = 3_600

/** The statuses of a transaction. */
export const transactionStatuses = ['Queued', 'Running', 'Succeeded', 'Failed', 'Canceled'] as const

/** The failure of a transaction whose lease ended. */
export const lapsedMessage = 'The process that ran it ended, or was silent for too long, before it was done.'

/** Properties that the record itself provides, so callers cannot set them. */
const reservedProperties: ReadonlySet<string> = new Set([
  'id',
  'operation',
  'subject',
  'created_at',
  'finished_at',
  'lease_until',
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

/** The caller of a request about a transaction. */
export interface Asking {
  /** The caller, if a server named one. */
  readonly caller: string | undefined
  /** What the caller may see, where hooks decide that. */
  readonly access: Access | undefined
}

/**
 * The transaction that a request's `id` names: the transaction id alone, or after the identifier of its table. A
 * session is visible only to the `caller` who began it, and to callers without a name. Any other transaction is visible
 * to callers who may describe its subjects.
 */
export function findTransaction(
  reader: Reader,
  id: Identifier,
  asking: Asking,
): { id: string; record: TransactionRecord } {
  const own = id.at(-1)
  const record = own === undefined ? undefined : reader.get<TransactionRecord>(keys.transaction(own))
  const subject = id.slice(0, -1)
  if (own !== undefined && record !== undefined) {
    const [isShown] = areShown(reader, [record], asking)
    if (isShown && isFoundUnder(reader, subject, record)) return { id: own, record }
  }
  throw transactionNotFound(own, subject)
}

/** For each transaction, whether the caller may see it. */
export function areShown(
  reader: Reader,
  records: readonly TransactionRecord[],
  { caller, access }: Asking,
): boolean[] {
  const isForeign = records.map((record) => isOfOther(record, caller))
  if (access === undefined) return isForeign.map((foreign) => !foreign)
  const subjects = records.map((record, index) =>
    isForeign[index] || isOwn(record, caller) ? [] : subjectsOf(reader, record),
  )
  // In one call, so that the hooks of all records run together.
  const answers = access.mayRead(subjects.flat())
  let from = 0
  return subjects.map(({ length }, index) => {
    const mayRead = answers.slice(from, from + length).every(Boolean)
    from += length
    return !isForeign[index] && mayRead
  })
}

/** Whether the caller began the session, or requested the batch. */
function isOwn({ session, principal }: TransactionRecord, caller: string | undefined): boolean {
  if (session !== undefined) return session.owner === caller
  return principal !== undefined && principal === caller
}

/** The questions to hooks before a caller changes a transaction. */
export function alterations(
  reader: Reader,
  record: TransactionRecord,
  caller: string | undefined,
): Question[] {
  if (isOwn(record, caller)) return []
  return subjectsOf(reader, record).map(({ id }) => ({ operation: 'alterTransaction', id, changes: true }))
}

/**
 * The subjects of a transaction. Those of a batch are the tables that it changed. Once one of them is gone, its owner
 * is unknown, and the subject is the whole catalog. So it is for a transaction over many operations.
 */
function subjectsOf(reader: Reader, { operation, subject, subject_ids = [] }: TransactionRecord): Named[] {
  if (subject.length > 0)
    return [{ kind: operation.endsWith('Namespace') ? 'namespace' : 'table', id: subject }]
  const tables = subject_ids.map((id) => tableById(reader, id))
  const there = tables.filter((table) => table !== undefined)
  if (there.length === 0 || there.length < tables.length) return [{ kind: 'namespace', id: [] }]
  return there.map(({ record }) => ({ kind: 'table', id: identifierOf(reader, record) }))
}

/** Whether a transaction is a session of another caller. Callers without a name see all sessions. */
function isOfOther({ session }: TransactionRecord, caller: string | undefined): boolean {
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
function isFoundUnder(reader: Reader, subject: Identifier, record: TransactionRecord): boolean {
  if (subject.length === 0) return true
  const now = lookUpTable(reader, subject)?.id ?? lookUpNamespace(reader, subject)
  if (record.subject.length === 0) return now !== undefined && record.subject_ids?.includes(now) === true
  if (now === undefined || record.subject_id === undefined) return sameNames(subject, record.subject)
  return now === record.subject_id
}

/**
 * Whether the lease of a transaction has ended, as when its process died. It counts as failed once that is recorded, and
 * not before: see `lapsed.ts`.
 */
export function hasLapsed(
  { status, lease_until }: Pick<TransactionRecord, 'status' | 'lease_until'>,
  now: number,
): boolean {
  return !isFinished(status) && lease_until !== undefined && lease_until < now
}

export function isFinished(status: TransactionStatus): boolean {
  return status === 'Succeeded' || status === 'Failed' || status === 'Canceled'
}

/** The properties to report: those that callers set, and those that the record itself provides. */
export function propertiesOf(id: string, record: TransactionRecord): Record<string, string> {
  const properties: Record<string, string> = {
    ...record.properties,
    id,
    operation: record.operation,
    subject: formatIdentifier(record.subject),
    created_at: new Date(record.created_at).toISOString(),
  }
  if (record.finished_at !== undefined) properties.finished_at = new Date(record.finished_at).toISOString()
  if (record.lease_until !== undefined && !isFinished(record.status))
    properties.lease_until = new Date(record.lease_until).toISOString()
  if (record.failure) {
    properties.failure = record.failure.message
    properties.failure_code = record.failure.code
  }
  return properties
}
