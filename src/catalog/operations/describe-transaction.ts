import * as v from 'valibot'
import { requestFields, responseFields, stringMap, text } from '../../base/model/fields.ts'
import { LapsesToRecord, withRecordedLapses } from '../transactions/lapsed.ts'
import { findTransaction, propertiesOf, transactionStatuses } from '../transactions/transaction-record.ts'
import { principalOf } from './framework/inside.ts'
import { operation } from './framework/operation.ts'
import { listedStatuses, post } from './framework/route.ts'

/** A transaction's id: the id alone, or the identifier of its table followed by the id. */
export const transactionIdentifier = v.pipe(
  v.array(text, 'must be a list of strings, the transaction id last'),
  v.nonEmpty('is empty; give the transaction_id of a response'),
  v.maxLength(64, 'must hold at most 64 strings'),
)

export const transactionResponse = v.object({
  ...responseFields,
  status: v.picklist(transactionStatuses),
  properties: stringMap,
})

/**
 * Describes a transaction: its status, and as properties what it did, when, and why it failed if it did. After
 * `Succeeded` the whole change is visible. A final status does not change. A transaction whose process died while it
 * ran is `Failed` once its lease has ended, the time in `lease_until`. Where the catalog cannot be written, nothing can
 * record that: then it stays `Running`.
 *
 * ```ts
 * const { transaction_id } = await catalog.deleteFromTable({ id: ['prod', 'flights'], predicate: 'delay > 60' })
 * const { status } = await catalog.describeTransaction({ id: [transaction_id!] })   // 'Succeeded'
 * ```
 */
export const describeTransaction = operation({
  name: 'describeTransaction',
  summary: 'Describe a transaction.',
  request: v.object({ ...requestFields, id: transactionIdentifier }),
  response: transactionResponse,
  errors: ['TransactionNotFound'],
  changes: false,
  route: post('/v1/transaction/{id}/describe', { statuses: listedStatuses }),
  command: {
    group: 'Transactions and batches',
    aliases: ['transaction'],
    id: 'transaction',
    examples: ['./catalog 01JDZ6Y4M8Q3V0S1T2R3N4P5K6'],
  },
  run: async (core, request) => {
    await core.running.get(request.id.at(-1)!)?.recorded
    return withRecordedLapses(core, (hasEnded) =>
      core.store.read((reader) => {
        const asking = { caller: principalOf(request), access: core.access }
        const { id, record } = findTransaction(reader, request.id, asking)
        if (hasEnded(record)) throw new LapsesToRecord([id])
        return { status: record.status, properties: propertiesOf(id, record) }
      }),
    )
  },
})
