import * as v from 'valibot'
import { CatalogError, invalid } from '../../base/errors.ts'
import { choice, requestFields, text } from '../../base/model/fields.ts'
import { quote } from '../../base/model/identifier.ts'
import { utf8Length } from '../../base/model/utf8.ts'
import { keys, type TransactionRecord } from '../../base/store/records.ts'
import { LapsesToRecord, withRecordedLapses } from '../transactions/lapsed.ts'
import {
  alterations,
  findTransaction,
  isFinished,
  propertiesOf,
  refuseReserved,
  transactionStatuses,
} from '../transactions/transaction-record.ts'
import { transactionIdentifier, transactionResponse } from './describe-transaction.ts'
import { principalOf } from './framework/inside.ts'
import { operation } from './framework/operation.ts'
import { post } from './framework/route.ts'

const action = v.pipe(
  v.object({
    setStatusAction: v.nullish(v.object({ status: choice(...transactionStatuses) })),
    setPropertyAction: v.nullish(
      v.object({ key: text, value: text, mode: v.nullish(choice('Overwrite', 'Fail', 'Skip')) }),
    ),
    unsetPropertyAction: v.nullish(v.object({ key: text, mode: v.nullish(choice('Skip', 'Fail')) })),
  }),
  v.check(
    (given) => Object.values(given).filter((member) => member != null).length === 1,
    'must have exactly one of setStatusAction, setPropertyAction, unsetPropertyAction',
  ),
  v.metadata({ exactlyOne: true }),
)

type Action = v.InferOutput<typeof action>

/**
 * Changes a transaction: sets its status, sets or unsets properties; all actions, or none. Setting a running
 * transaction to `Canceled` stops its work and makes its commit fail. A finished one keeps its status.
 */
export const alterTransaction = operation({
  name: 'alterTransaction',
  summary: 'Change the status or the properties of a transaction.',
  request: v.object({
    ...requestFields,
    id: transactionIdentifier,
    actions: v.pipe(
      v.array(action, 'must be a list of actions'),
      v.nonEmpty('is empty; give at least one action'),
      v.maxLength(1_000, 'must hold at most 1,000 actions'),
    ),
  }),
  response: transactionResponse,
  errors: ['TransactionNotFound', 'ConcurrentModification'],
  changes: true,
  route: post('/v1/transaction/{id}/alter'),
  command: {
    group: 'Transactions and batches',
    id: 'transaction',
    examples: [
      `./catalog 01JDZ6Y4M8Q3V0S1T2R3N4P5K6 --actions '[{"setStatusAction":{"status":"Canceled"}}]'`,
    ],
  },
  run: async (core, request) => {
    const { id, actions } = request
    await core.running.get(id.at(-1)!)?.recorded
    const { found, altered } = await withRecordedLapses(core, (hasEnded) =>
      core.store.write((writer) => {
        const caller = principalOf(request)
        const found = findTransaction(writer, id, { caller, access: core.access })
        core.access?.require(alterations(writer, found.record, caller))
        if (hasEnded(found.record)) throw new LapsesToRecord([found.id])
        const now = core.now()
        const altered = actions.reduce((record, given) => apply(record, given, now), found.record)
        if (altered !== found.record) writer.put(keys.transaction(found.id), altered)
        return { found, altered }
      }),
    )
    if (altered.status === 'Canceled') core.running.get(found.id)?.stop()
    return { status: altered.status, properties: propertiesOf(found.id, altered) }
  },
})

function apply(record: TransactionRecord, given: Action, now: number): TransactionRecord {
  if (given.setStatusAction) return setStatus(record, given.setStatusAction.status, now)
  if (given.setPropertyAction) return setProperty(record, given.setPropertyAction)
  return unsetProperty(record, given.unsetPropertyAction!)
}

function setStatus(
  record: TransactionRecord,
  status: TransactionRecord['status'],
  now: number,
): TransactionRecord {
  const current = record.status
  if (status === current) return record
  if (isFinished(current)) {
    throw new CatalogError(
      'ConcurrentModification',
      `The transaction is ${current} and stays so; it cannot become ${status}. Start the operation again instead.`,
    )
  }
  if (status !== 'Canceled') {
    throw invalid(
      `A transaction at work can be set to Canceled only, not to ${status}: its own outcome decides the rest.`,
    )
  }
  return { ...record, status, finished_at: now }
}

function setProperty(
  record: TransactionRecord,
  { key, value, mode }: NonNullable<Action['setPropertyAction']>,
): TransactionRecord {
  refuseReserved(key)
  if (Object.hasOwn(record.properties, key)) {
    if (mode === 'Skip') return record
    if (mode === 'Fail') {
      throw new CatalogError(
        'ConcurrentModification',
        `The property ${quote(key)} is set already. Use mode Overwrite to replace it, or Skip to keep it.`,
      )
    }
  }
  return withProperties(record, { ...record.properties, [key]: value })
}

function unsetProperty(
  record: TransactionRecord,
  { key, mode }: NonNullable<Action['unsetPropertyAction']>,
): TransactionRecord {
  refuseReserved(key)
  if (!Object.hasOwn(record.properties, key)) {
    if (mode === 'Fail')
      throw invalid(`The property ${quote(key)} is not set. Use mode Skip to pass over it.`)
    return record
  }
  return withProperties(
    record,
    Object.fromEntries(Object.entries(record.properties).filter(([name]) => name !== key)),
  )
}

const maxPropertyBytes = 65_536

function withProperties(
  record: TransactionRecord,
  properties: Readonly<Record<string, string>>,
): TransactionRecord {
  if (utf8Length(JSON.stringify(properties)) > maxPropertyBytes) {
    throw invalid(
      `The properties of a transaction are at most ${maxPropertyBytes} bytes in all; unset some first.`,
    )
  }
  return { ...record, properties }
}
