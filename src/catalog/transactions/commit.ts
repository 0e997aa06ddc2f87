import type { Identifier } from '../../base/model/identifier.ts'
import type { SubjectChange } from '../../base/model/subject-change.ts'
import { append } from '../../base/store/append.ts'
import { keys, recordFormat, type TransactionRecord } from '../../base/store/records.ts'
import type { Writer } from '../../base/store/store.ts'
import { withMembers } from '../../base/with-members.ts'
import { type FoundTable, findTable, identifierOf } from '../lookup/names.ts'
import type { CommitContext } from './context.ts'
import { NotingWriter } from './noting-writer.ts'
import { type RecordedChanges, storedChanges } from './recorded-changes.ts'

/** The context in which the body of a change runs. */
export interface ChangeContext {
  readonly writer: Writer
  /** The id of the transaction record. */
  readonly transactionId: string
  readonly now: number
  /** Notes the changed tables and namespaces. */
  readonly noted: Pick<NotingWriter, 'noteSubject'>
}

/** What is fixed before a change begins, and stays the same when its body runs again. */
export type ChangeIdentity = Pick<ChangeContext, 'transactionId' | 'now'>

/** Finds the table to change, and notes it as the subject. Throws `TableNotFound`. */
export function findTableToChange({ writer, noted }: ChangeContext, id: Identifier): FoundTable {
  const table = findTable(writer, id)
  noted.noteSubject(table.id, id)
  return table
}

/** Notes a table that was found before as the subject. It may have been renamed since. */
export function noteFoundSubject(
  { writer, noted }: ChangeContext,
  now: FoundTable,
  before: FoundTable,
): void {
  const { parent, name } = now.record
  const isMoved = parent !== before.record.parent || name !== before.record.name
  noted.noteSubject(now.id, isMoved ? identifierOf(writer, now.record) : undefined)
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
    const noted = new NotingWriter(writer)
    const result = body({ writer: noted, noted, transactionId, now })
    isMade = !(unchangedMark in result)
    if (unchangedMark in result) return (result as Unchanged<T>).response
    const { subjectId } = noted
    const change = { transactionId, now, operation, subject, subjectId, at, isOutside: true }
    const changes = recordChange(core, writer, change, noted)
    const record = succeeded(core, operation, noted.kept(subject), noted, { now, changes })
    writer.put(keys.transaction(transactionId), record)
    return withMembers(result, { transaction_id: transactionId })
  })
  // Changes inside of a transaction are part of its commit.
  if (isMade && core.staging === undefined) core.counts.commits++
  const upkeepBegins = afterChange(core, transactionId)
  if (upkeepBegins) await upkeepBegins
  return response
}

/**
 * Called after every change, which never waits for the upkeep to end, nor fails with it. The change awaits the promise
 * that this may return: it lets the upkeep begin.
 */
export function afterChange(core: CommitContext, transactionId: string): Promise<void> | undefined {
  if (core.staging) {
    const { outside } = core.staging
    core.staging.afterCommit(() => afterChange(outside, transactionId))
    return undefined
  }
  if (core.feed.watchers > 0) core.feed.wake()
  if (++core.upkeep.changes % core.upkeep.interval !== 0) return undefined
  core.upkeep.begin(keys.mark(transactionId))
  return core.upkeep.yieldIfBehind()
}

/** The record of a change that is already done. Frozen, so that a store that keeps objects need not copy it. */
function succeeded(
  { origin }: CommitContext,
  operation: string,
  subject: Identifier,
  { subjectId, subjectIds }: NotingWriter,
  { now, changes }: { readonly now: number; readonly changes: RecordedChanges | undefined },
): TransactionRecord {
  const record: { -readonly [Name in keyof TransactionRecord]: TransactionRecord[Name] } = {
    v: recordFormat,
    status: 'Succeeded',
    operation,
    subject,
    created_at: now,
    finished_at: now,
    properties: noProperties,
  }
  if (subject.length > 0) {
    if (subjectId !== undefined) record.subject_id = subjectId
  } else {
    // A change of several tables has no single subject.
    if (subjectId !== undefined) record.subject_ids = Object.freeze(subjectIds ?? [subjectId])
    if (origin?.principal !== undefined) record.principal = origin.principal
  }
  if (changes !== undefined) {
    record.changes = changes.changes!
    if (changes.parts !== undefined) record.parts = changes.parts
    if (changes.origin !== undefined) record.origin = changes.origin
  }
  return Object.freeze(record)
}

const noProperties = Object.freeze({})

/** How a change is recorded. */
export interface RecordedChange {
  readonly transactionId: string
  readonly now: number
  readonly operation: string
  readonly subject: Identifier
  /** The internal id of the subject, if the change has one. */
  readonly subjectId: string | undefined
  /** Its ordinal among the operations of its transaction. */
  readonly at: number | undefined
  /** Whether it changed its table even if no record changed: tags and branches of Lance lie outside of the store. */
  readonly isOutside?: boolean
}

/**
 * Writes the feed entry of a change, in the store transaction of the change: a reader sees both or neither. The entry
 * names the transaction, whose record takes the returned members. Inside of a transaction over many operations, the
 * changes are staged for the entry of its commit.
 */
export function recordChange(
  { staging, origin, feed }: CommitContext,
  writer: Writer,
  change: RecordedChange,
  noted: NotingWriter,
): RecordedChanges | undefined {
  const { transactionId, at, operation, subject } = change
  const changes =
    noted.inner.length > 0 ? changesInside(noted) : noted.changes(operation, subject, change.subjectId)
  if (changes.length === 0) {
    if (!change.isOutside || subject.length === 0) return undefined
    changes.push({ operation, kind: 'table', id: noted.kept(subject), effect: 'changed' })
  }
  if (staging) {
    // Frozen, so that the store need not copy them.
    const named = changes.map((change) =>
      Object.freeze(withMembers(change, { transaction_id: transactionId })),
    )
    writer.put(keys.stagedChange(transactionId), {
      v: recordFormat,
      at: at ?? 0,
      changes: Object.freeze(named),
      ...origin,
    })
    return undefined
  }
  feed.raiseFormat(writer)
  const number = append(writer, keys.feed, transactionId, feed.likelyLast)
  // If the change fails, this is only a wrong guess.
  if (number !== undefined) feed.likelyLast = number
  const stored = storedChanges(writer, transactionId, { operation, subject }, changes)
  const { principal, request_id } = origin ?? noted.inner[0] ?? {}
  if (principal === undefined && request_id === undefined) return stored
  return {
    ...stored,
    origin: {
      ...(principal !== undefined && { principal }),
      ...(request_id !== undefined && { request_id }),
    },
  }
}

/** What the operations of a transaction changed, in their order. */
function changesInside({ inner }: NotingWriter): SubjectChange[] {
  return [...inner].sort((a, b) => a.at - b.at).flatMap(({ changes }) => changes)
}
