import * as v from 'valibot'
import { requestFields, responseFields, stringMap, text } from '../../base/model/fields.ts'
import { propertiesOf, transactionNotFound } from '../transactions/transaction-record.ts'
import { transactionIdentifier } from './describe-transaction.ts'
import { nested, principalOf } from './framework/inside.ts'
import { operation } from './framework/operation.ts'
import { post } from './framework/route.ts'

/**
 * Commits a transaction of `beginTransaction`: all that its operations did is there at once and durably, or none of it.
 * Asked again, it answers the same.
 *
 * `ConcurrentModification` when others changed what it read, or when it was canceled: then nothing of it is committed.
 * `TransactionNotFound` when it has expired, or is not the caller's. `InvalidInput` while an operation inside is still
 * running; it stays open then.
 */
export const commitTransaction = operation({
  name: 'commitTransaction',
  summary: 'Commit a transaction: all of its changes at once.',
  request: v.object({ ...requestFields, id: transactionIdentifier }),
  response: v.object({
    ...responseFields,
    transaction_id: text,
    status: v.picklist(['Succeeded']),
    properties: stringMap,
  }),
  errors: ['TransactionNotFound', 'ConcurrentModification'],
  changes: true,
  repeatable: true,
  route: post('/v1/transaction/{id}/commit'),
  command: {
    group: 'Transactions and batches',
    needsServer: true,
    id: 'transaction',
    examples: ['http://127.0.0.1:2333 01JDZ6Y4M8Q3V0S1T2R3N4P5K6'],
  },
  run: async (core, request) => {
    if (core.staging) throw nested()
    const id = soleId(request.id)
    const sessions = await core.sessions.of(core)
    const record = await sessions.commit(id, principalOf(request))
    return {
      transaction_id: id,
      status: 'Succeeded' as const,
      properties: record ? propertiesOf(id, record) : {},
    }
  },
})

/** The id of a transaction over many operations, which no table may precede. */
export function soleId([id, ...more]: readonly string[]): string {
  if (more.length > 0) throw transactionNotFound(more.at(-1), [id!, ...more.slice(0, -1)])
  return id!
}
