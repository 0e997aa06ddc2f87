import * as v from 'valibot'
import { choice, requestFields, responseFields, stringMap, text } from '../../base/model/fields.ts'
import { isTransactionId, transactionIdPattern } from '../../base/model/transaction-id.ts'
import { maxIdleSeconds, refuseReserved } from '../transactions/transaction-record.ts'
import { nested, principalOf } from './framework/inside.ts'
import { isolations, operation, sessionServer } from './framework/operation.ts'
import { post } from './framework/route.ts'

const idleMessage = () =>
  `must be a number of seconds, more than 0 and at most ${maxIdleSeconds.toLocaleString('en')}`

const transactionId = v.pipe(
  text,
  v.check(isTransactionId, 'must be the transaction_id of one transaction'),
  v.metadata({ pattern: transactionIdPattern.source }),
)

/**
 * Begins a transaction for operations that follow one by one: each names the `transaction_id` as its option
 * `transaction`, or over HTTP as the header `x-tabularium-transaction`. They see what those before them did. Others do
 * not. `commitTransaction` commits all of it at once, and `rollbackTransaction` gives it up.
 *
 * With the `isolation` `ReadCommitted`, the commit compares only what the changes looked at, and not all that was read.
 *
 * With `retry_of`, it retries another transaction of the caller that ended without a commit. After two lost races, the
 * answer comes once this one has turns at the branches where they were lost, ten seconds later at most. Fails with
 * `ConcurrentModification` when that one is committed, `InvalidInput` when it is still open, and `TransactionNotFound`
 * when it is unknown, or not the caller's.
 *
 * The transaction lives in the process that began it, and belongs to its caller. Other servers over the catalog pass
 * its requests on. When no request comes for `idle_timeout_seconds`, it expires. Prefer `catalog.transaction(…)`, which
 * does the three in one and runs again after a lost race.
 *
 * ```ts
 * const { transaction_id: transaction } = await catalog.beginTransaction({})
 * await catalog.insertIntoTable({ id: ['orders'], data }, { transaction })
 * await catalog.deleteFromTable({ id: ['cart'], predicate: 'user = 7' }, { transaction })
 * await catalog.commitTransaction({ id: [transaction] })
 * ```
 */
export const beginTransaction = operation({
  name: 'beginTransaction',
  summary: 'Begin a transaction over many operations.',
  request: v.object({
    ...requestFields,
    properties: v.nullish(stringMap),
    isolation: v.nullish(choice(...isolations)),
    retry_of: v.nullish(transactionId),
    idle_timeout_seconds: v.nullish(
      v.pipe(
        v.number(idleMessage),
        v.check((given) => given > 0 && given <= maxIdleSeconds, idleMessage),
        v.metadata({ exclusiveMinimum: 0, maximum: maxIdleSeconds }),
      ),
    ),
  }),
  response: v.object({
    ...responseFields,
    transaction_id: text,
    status: v.picklist(['Running']),
    idle_timeout_seconds: v.number(),
  }),
  errors: ['Throttling', 'Unsupported', 'TransactionNotFound', 'ConcurrentModification'],
  changes: true,
  route: post('/v1/transaction/begin'),
  command: {
    group: 'Transactions and batches',
    needsServer: true,
    examples: ['http://127.0.0.1:2333 --idle-timeout-seconds 300'],
  },
  run: async (core, request, options) => {
    if (core.staging) throw nested()
    const properties = request.properties ?? {}
    for (const key of Object.keys(properties)) refuseReserved(key)
    const sessions = await core.sessions.of(core)
    const { id, idleSeconds } = await sessions.begin(principalOf(request), {
      idleSeconds: request.idle_timeout_seconds ?? undefined,
      isolation: request.isolation ?? undefined,
      properties,
      retryOf: request.retry_of ?? undefined,
      server: options[sessionServer],
      signal: options.signal,
    })
    return { transaction_id: id, status: 'Running' as const, idle_timeout_seconds: idleSeconds }
  },
})
