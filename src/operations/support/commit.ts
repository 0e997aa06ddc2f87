import type { Identifier } from '../../model/identifier.ts'
import { keys, recordFormat, type TransactionRecord } from '../../store/records.ts'
import type { Writer } from '../../store/store.ts'
import type { Core } from './core.ts'
import { afterChange } from './housekeeping.ts'

/** One atomic change under way. */
export interface Change {
  readonly writer: Writer
  /** The id the change is recorded under. */
  readonly transactionId: string
  readonly now: number
}

const unchangedMark = Symbol('unchanged')

/** What a commit's body returns when it found that nothing had to change: no transaction is recorded. */
export interface Unchanged<T> {
  readonly [unchangedMark]: true
  readonly response: T
}

export function unchanged<T>(response: T): Unchanged<T> {
  return { [unchangedMark]: true, response }
}

function isUnchanged<T>(result: T | Unchanged<T>): result is Unchanged<T> {
  return typeof result === 'object' && result !== null && unchangedMark in result
}

/**
 * Runs `body` in one store transaction and records the change in the same one, so that whoever sees the
 * record sees the whole change. The answer is what `body` returned, with the change's `transaction_id`.
 */
export async function commit<T extends object>(
  core: Core,
  operation: string,
  subject: Identifier,
  body: (change: Change) => T | Unchanged<T>,
  { transactionId, now }: Omit<Change, 'writer'> = { transactionId: core.newId(), now: core.now() },
): Promise<T & { transaction_id?: string }> {
  const response = await core.store.write((writer) => {
    const result = body({ writer, transactionId, now })
    if (isUnchanged(result)) return result.response
    writer.put(keys.transaction(transactionId), succeeded(operation, subject, now))
    return { ...result, transaction_id: transactionId }
  })
  afterChange(core, transactionId)
  return response
}

/** The record of a change that was made at once; frozen, so that a store that keeps objects need not copy it. */
export function succeeded(operation: string, subject: Identifier, now: number): TransactionRecord {
  return Object.freeze({
    v: recordFormat,
    status: 'Succeeded',
    operation,
    subject: Object.freeze([...subject]),
    created_at: now,
    finished_at: now,
    properties: noProperties,
  })
}

const noProperties = Object.freeze({})
