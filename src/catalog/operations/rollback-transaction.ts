import * as v from 'valibot'
import { type ErrorCode, errorNumbers } from '../../base/errors.ts'
import { choice, requestFields, text } from '../../base/model/fields.ts'
import { propertiesOf } from '../transactions/transaction-record.ts'
import { soleId } from './commit-transaction.ts'
import { transactionIdentifier, transactionResponse } from './describe-transaction.ts'
import { nested, principalOf } from './framework/inside.ts'
import { operation } from './framework/operation.ts'
import { post } from './framework/route.ts'

/**
 * Rolls back a transaction of `beginTransaction`: nothing of it is committed, and operations inside that still run are
 * stopped. Its record says Canceled, or Failed with the `failure` of the request. Does nothing to one that has ended
 * without a commit.
 */
export const rollbackTransaction = operation({
  name: 'rollbackTransaction',
  summary: 'Give up a transaction: none of its changes.',
  request: v.object({
    ...requestFields,
    id: transactionIdentifier,
    failure: v.nullish(v.pipe(text, v.maxLength(2_000, 'must be at most 2,000 characters long'))),
    failure_code: v.nullish(choice(...(Object.keys(errorNumbers) as [ErrorCode, ...ErrorCode[]]))),
  }),
  response: transactionResponse,
  errors: ['TransactionNotFound', 'ConcurrentModification'],
  changes: true,
  repeatable: true,
  route: post('/v1/transaction/{id}/rollback'),
  command: {
    group: 'Transactions and batches',
    needsServer: true,
    id: 'transaction',
    examples: ['http://127.0.0.1:2333 01JDZ6Y4M8Q3V0S1T2R3N4P5K6'],
  },
  run: async (core, request) => {
    if (core.staging) throw nested()
    const { failure, failure_code } = request
    const id = soleId(request.id)
    const sessions = await core.sessions.of(core)
    const record = await sessions.rollback(
      id,
      principalOf(request),
      failure || failure_code
        ? { code: failure_code ?? 'Internal', message: failure ?? 'No reason was given.' }
        : undefined,
    )
    return { status: record.status, properties: propertiesOf(id, record) }
  },
})
