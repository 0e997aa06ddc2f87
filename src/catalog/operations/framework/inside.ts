import { type CatalogError, invalid, unsupported } from '../../../base/errors.ts'
import { quote } from '../../../base/model/identifier.ts'
import { inTransactionHeader, isTransactionId } from '../../../base/model/transaction-id.ts'
import { principalKey } from '../../lookup/access.ts'
import type { AnyOperation, OperationOptions } from './operation.ts'

export type { SessionServer } from '../../../base/store/records.ts'

/** The same as an entry of a request's context. */
const insideKey = `header.${inTransactionHeader}`

/**
 * The transaction that an operation belongs to, by its options or by an entry of its context. Undefined when it belongs
 * to none. Fails with `InvalidInput` for what cannot be an id, and when the two differ.
 */
export function transactionNamed(request: unknown, options: OperationOptions): string | undefined {
  const context = (request as { context?: unknown } | null | undefined)?.context
  let named: unknown = options.transaction ?? undefined
  if (typeof context === 'object' && context !== null) {
    // Headers are the same in any case. Most entries differ in length already.
    for (const key in context) {
      if (key.length !== insideKey.length || key.toLowerCase() !== insideKey) continue
      const entry: unknown = (context as Readonly<Record<string, unknown>>)[key]
      if (named === undefined) named = entry
      else if (named !== entry)
        throw invalid(`The operation names two transactions, ${shown(named)} and ${shown(entry)}. ${oneId}`)
    }
  }
  if (named === undefined) return undefined
  if (typeof named !== 'string' || !isTransactionId(named)) {
    throw invalid(`The transaction of the operation is no transaction_id of beginTransaction. ${oneId}`)
  }
  return named
}

function shown(id: unknown): string {
  return typeof id === 'string' ? quote(id.slice(0, 128)) : `a ${typeof id}`
}

const oneId = `Give one id, as the option transaction or as the header ${inTransactionHeader}.`

/** Whether an operation is about a transaction, and cannot be part of one. */
export function isAboutTransactions(operation: string): boolean {
  return operation === 'beginTransaction' || aboutTransactions.has(operation)
}

/**
 * Whether an operation looks at an idempotency key. Reads need none. For those about transactions the id of the
 * transaction does the same, and a transaction that nobody uses expires.
 */
export function isKeyed({ name, changes }: Pick<AnyOperation, 'name' | 'changes'>): boolean {
  return changes && !isAboutTransactions(name)
}

/** Whether an operation begins a transaction, or ends it. */
export function beginsOrEnds(operation: string): boolean {
  return (
    operation === 'beginTransaction' ||
    operation === 'commitTransaction' ||
    operation === 'rollbackTransaction'
  )
}

/** Refuses an operation inside of the transaction `id` that names another one. */
export function requireSame(
  id: string,
  operation: AnyOperation,
  request: unknown,
  options: OperationOptions,
): void {
  const named = transactionNamed(request, options)
  if (named === undefined || named === id) return
  throw invalid(
    `${operation.name} names the transaction ${quote(named)}, and runs inside of another one. Leave the option out.`,
  )
}

const aboutTransactions: ReadonlySet<string> = new Set([
  'describeTransaction',
  'alterTransaction',
  'commitTransaction',
  'rollbackTransaction',
])

/** Whether an operation is about a transaction itself, so that it is not part of that transaction. */
export function isAbout({ name }: AnyOperation, request: unknown, transactionId: string): boolean {
  if (!aboutTransactions.has(name)) return false
  const { id } = (request ?? {}) as { id?: unknown }
  return Array.isArray(id) && id.at(-1) === transactionId
}

/** The error for a transaction that is begun, or ended, inside of another. */
export function nested(): CatalogError {
  return unsupported(
    'A transaction has no transactions inside of it.',
    'Call the operations on the open one itself, or run the other one afterwards.',
  )
}

/** The caller whom a server named; undefined in process, and when a server accepts every caller. */
export function principalOf(request: unknown): string | undefined {
  const { context } = (request ?? {}) as { context?: Readonly<Record<string, unknown>> | null }
  const name = context?.[principalKey]
  return typeof name === 'string' ? name : undefined
}
