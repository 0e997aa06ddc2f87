import type { Identifier } from '../../base/model/identifier.ts'
import { keys, recordFormat, type TransactionRecord } from '../../base/store/records.ts'
import type { Writer } from '../../base/store/store.ts'
import { type FoundTable, findTable, identifierOf } from '../lookup/names.ts'
import type { CommitContext } from './context.ts'
import { NotingWriter } from './noting-writer.ts'
import { recordChange } from './record-change.ts'
import { afterChange } from './retention.ts'

/** The context in which the body of a change runs. */
export interface ChangeContext {
  readonly writer: Writer
  /** The id of the transaction record. */
  readonly transactionId: string
  readonly now: number
  /**
   * Notes the internal id of the changed table or namespace in the transaction record. A batch notes several. The feed
   * shows `id`, by default the identifier of the operation. `to` is the identifier after a rename.
   */
  readonly noteSubject: (internalId: string, id?: Identifier, to?: Identifier) => void
}

/** What is fixed before a change begins, and stays the same when its body runs again. */
export type ChangeIdentity = Pick<ChangeContext, 'transactionId' | 'now'>

/** Finds the table to change, and notes it as the subject. Throws `TableNotFound`. */
export function findTableToChange({ writer, noteSubject }: ChangeContext, id: Identifier): FoundTable {
  const table = findTable(writer, id)
  noteSubject(table.id, id)
  return table
}

/** Notes a table that was found before as the subject. It may have been renamed since. */
export function noteFoundSubject(
  { writer, noteSubject }: ChangeContext,
  now: FoundTable,
  before: FoundTable,
): void {
  const { parent, name } = now.record
  const isMoved = parent !== before.record.parent || name !== before.record.name
  noteSubject(now.id, isMoved ? identifierOf(writer, now.record) : undefined)
}

const unchangedMark = Symbol('unchanged')

/** Returned by a body that had nothing to change: no transaction is recorded. */
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
 * Runs `body` in one store transaction, which also writes the transaction record: a reader that sees the record
 * sees the whole change. Resolves to what `body` returned, with the change's `transaction_id`.
 */
export async function commit<T extends object>(
  core: CommitContext,
  operation: string,
  subject: Identifier,
  body: (change: ChangeContext) => T | Unchanged<T>,
  { transactionId, now }: ChangeIdentity = { transactionId: core.newId(), now: core.now() },
): Promise<T & { transaction_id?: string }> {
  const at = core.staging?.nextOrdinal()
  let isMade = false
  const response = await core.store.write((writer) => {
    const changed = runChange(writer, { transactionId, now }, body)
    const { result, noted, subjectId } = changed
    isMade = !isUnchanged(result)
    if (isUnchanged(result)) return result.response
    writer.put(keys.transaction(transactionId), succeeded(core, operation, noted.kept(subject), changed, now))
    const change = { transactionId, now, operation, subject, subjectId, at, isOutside: true }
    recordChange(core, writer, change, noted)
    return { ...result, transaction_id: transactionId }
  })
  // Changes inside of a transaction are part of its commit.
  if (isMade && core.staging === undefined) core.counts.commits++
  const upkeepBegins = afterChange(core, transactionId)
  if (upkeepBegins) await upkeepBegins
  return response
}

/** The internal ids of the subjects of a change. */
interface Changed {
  /** The last one that the body set. */
  readonly subjectId: string | undefined
  /** All of them, when there are several. May hold duplicates. */
  readonly subjectIds: readonly string[] | undefined
}

/** Runs the body of a change. Also returns what it did, and the internal ids of its subjects, if the body set some. */
export function runChange<T>(
  writer: Writer,
  { transactionId, now }: ChangeIdentity,
  body: (change: ChangeContext) => T,
): Changed & { result: T; noted: NotingWriter } {
  const noted = new NotingWriter(writer)
  let subjectId: string | undefined
  let subjectIds: string[] | undefined
  const noteSubject: ChangeContext['noteSubject'] = (internalId, id, to) => {
    if (id !== undefined) noted.name(internalId, id, to)
    if (internalId === subjectId) return
    if (subjectIds !== undefined) subjectIds.push(internalId)
    else if (subjectId !== undefined) subjectIds = [subjectId, internalId]
    subjectId = internalId
  }
  const result = body({ writer: noted, transactionId, now, noteSubject })
  return { result, noted, subjectId, subjectIds }
}

/** The record of a change that is already done. Frozen, so that a store that keeps objects need not copy it. */
function succeeded(
  { origin }: CommitContext,
  operation: string,
  subject: Identifier,
  { subjectId, subjectIds }: Changed,
  now: number,
): TransactionRecord {
  const isBatch = subject.length === 0
  return Object.freeze({
    v: recordFormat,
    status: 'Succeeded',
    operation,
    subject,
    // A change of several tables has no single subject.
    ...(subjectId !== undefined &&
      (isBatch ? { subject_ids: Object.freeze(subjectIds ?? [subjectId]) } : { subject_id: subjectId })),
    ...(isBatch && origin?.principal !== undefined && { principal: origin.principal }),
    created_at: now,
    finished_at: now,
    properties: noProperties,
  })
}

const noProperties = Object.freeze({})
