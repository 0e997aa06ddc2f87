import type { Core } from '../catalog/core.ts'
import { type FoundTable, findTable } from '../lookup/names.ts'
import type { Identifier } from '../model/identifier.ts'
import { keys, recordFormat, type TransactionRecord } from '../store/records.ts'
import type { Writer } from '../store/store.ts'
import { afterChange } from './retention.ts'

/** One atomic change under way. */
export interface Change {
  readonly writer: Writer
  /** The id the change is recorded under. */
  readonly transactionId: string
  readonly now: number
  /** Says by its internal id which table or namespace is changed, so that the record tells it from others. */
  readonly concerns: (internalId: string) => void
}

/** What is settled before a change begins. */
export type ChangeIdentity = Pick<Change, 'transactionId' | 'now'>

/** The table that a change is about; it must be there. */
export function findTableToChange({ writer, concerns }: Change, id: Identifier): FoundTable {
  const table = findTable(writer, id)
  concerns(table.id)
  return table
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
  { transactionId, now }: ChangeIdentity = { transactionId: core.newId(), now: core.now() },
): Promise<T & { transaction_id?: string }> {
  const response = await core.store.write((writer) => {
    const { result, subjectId } = runChange(writer, { transactionId, now }, body)
    if (isUnchanged(result)) return result.response
    writer.put(keys.transaction(transactionId), succeeded(operation, subject, subjectId, now))
    return { ...result, transaction_id: transactionId }
  })
  afterChange(core, transactionId)
  return response
}

/** Runs the body of a change; answers with what it returned and the internal id of what it is about, if it said. */
export function runChange<T>(
  writer: Writer,
  { transactionId, now }: ChangeIdentity,
  body: (change: Change) => T,
): { result: T; subjectId: string | undefined } {
  let subjectId: string | undefined
  const concerns = (internalId: string) => {
    subjectId = internalId
  }
  const result = body({ writer, transactionId, now, concerns })
  return { result, subjectId }
}

/** The record of a change that was made at once; frozen, so that a store that keeps objects need not copy it. */
function succeeded(
  operation: string,
  subject: Identifier,
  subjectId: string | undefined,
  now: number,
): TransactionRecord {
  return Object.freeze({
    v: recordFormat,
    status: 'Succeeded',
    operation,
    subject: Object.freeze([...subject]),
    // What changes many is about none of them.
    ...(subjectId !== undefined && subject.length > 0 && { subject_id: subjectId }),
    created_at: now,
    finished_at: now,
    properties: noProperties,
  })
}

const noProperties = Object.freeze({})
