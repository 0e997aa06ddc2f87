import { CatalogError } from '../../base/errors.ts'
import { keys, type TransactionRecord } from '../../base/store/records.ts'
import { runOperation } from '../../catalog/operations/framework/run.ts'
import { forkInternals } from './internals.ts'
import type { FaultedCall } from './run.ts'

/** A change whose transaction stays Running. */
export interface RunningChange {
  /** The response for the caller. */
  readonly response: unknown
  readonly transactionId: string
  /** Makes the change, unless it was canceled. */
  release(): Promise<void>
}

/**
 * Acknowledges a change without making it. A fork makes the change and yields the response. Here only its transaction
 * is visible, as Running. `release` makes the change with the same ids on the state at that time. If that fails, the
 * transaction is Failed.
 */
export async function acknowledge({
  operation,
  request,
  options,
  inOrder,
  internals,
  forkOptions,
}: FaultedCall): Promise<RunningChange | { readonly response: unknown }> {
  const given: string[] = []
  const newId = () => {
    const id = forkOptions.newId()
    given.push(id)
    return id
  }
  const copy = forkInternals(internals, { ...forkOptions, newId })
  const response = await inOrder(operation.name, () => runOperation(copy.core, operation, request, options))
  const { transaction_id: transactionId } = response as { transaction_id?: string }
  // Nothing had to change, so there is no transaction.
  if (transactionId === undefined) return { response }
  const key = keys.transaction(transactionId)
  const done = await copy.store.read((reader) => reader.get<TransactionRecord>(key))
  const { finished_at: _, lease_until: __, ...record } = done!
  await internals.store.write((writer) => writer.put(key, { ...record, status: 'Running' }))
  const { core } = internals
  let released: Promise<void> | undefined
  const make = async () => {
    const now = await core.store.read((reader) => reader.get<TransactionRecord>(key))
    if (now?.status !== 'Running') return
    const newId = () => given.shift() ?? forkOptions.newId()
    const replayed = { ...core, newId, newTableId: newId }
    const failure = await inOrder(operation.name, () => runOperation(replayed, operation, request, {})).then(
      () => undefined,
      failureOf,
    )
    await core.store.write((writer) => {
      const current = writer.get<TransactionRecord>(key)
      if (current?.status === 'Running') writer.put(key, finished(current, failure, core.now()))
    })
  }
  return {
    response,
    transactionId,
    release: () => {
      released ??= make()
      return released
    },
  }
}

function finished(
  { lease_until: _, ...record }: TransactionRecord,
  failure: TransactionRecord['failure'],
  now: number,
): TransactionRecord {
  return failure
    ? { ...record, status: 'Failed', finished_at: now, failure }
    : { ...record, status: 'Succeeded', finished_at: now }
}

function failureOf(error: unknown): NonNullable<TransactionRecord['failure']> {
  return error instanceof CatalogError
    ? { code: error.code, message: error.message.slice(0, 2_000) }
    : { code: 'Internal', message: 'An unexpected error.' }
}
