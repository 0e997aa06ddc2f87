import type { Identifier } from '../../base/model/identifier.ts'
import { append } from '../../base/store/append.ts'
import { type FeedRecord, keys, recordFormat, type SubjectChange } from '../../base/store/records.ts'
import type { Writer } from '../../base/store/store.ts'
import type { CommitContext } from './context.ts'
import type { NotingWriter } from './noting-writer.ts'

/** The most changes in an entry itself, and in each further record. Larger records are slow to read and write. */
const inEntry = 250
const inPart = 1_000

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
 * Writes the feed entry of a change, in the store transaction of the change: a reader sees both or neither. Inside of a
 * transaction over many operations, the changes are staged for the entry of its commit.
 */
export function recordChange(
  { staging, origin, feed }: CommitContext,
  writer: Writer,
  change: RecordedChange,
  noted: NotingWriter,
): void {
  const { transactionId, now, at } = change
  const changes = noted.inner.length > 0 ? changesInside(noted) : ownChanges(change, noted)
  if (changes.length === 0) return
  if (staging) {
    const named = changes.map((change) => ({ ...change, transaction_id: transactionId }))
    writer.put(keys.stagedChange(transactionId), { v: recordFormat, at: at ?? 0, changes: named, ...origin })
    return
  }
  const entry: { -readonly [Name in keyof FeedRecord]: FeedRecord[Name] } = {
    v: recordFormat,
    transaction: transactionId,
    time: now,
    changes: Object.freeze(changes),
  }
  const { principal, request_id } = origin ?? noted.inner[0] ?? {}
  if (principal !== undefined) entry.principal = principal
  if (request_id !== undefined) entry.request_id = request_id
  if (changes.length > inEntry) {
    entry.changes = changes.slice(0, inEntry)
    entry.parts = Math.ceil((changes.length - inEntry) / inPart)
    for (let part = 0; part < entry.parts; part++) {
      const from = inEntry + part * inPart
      writer.put(keys.feedPart(transactionId, part), changes.slice(from, from + inPart))
    }
  }
  const number = append(writer, keys.feed, Object.freeze(entry), feed.likelyLast)
  // If the change fails, this is only a wrong guess.
  if (number !== undefined) feed.likelyLast = number
}

function ownChanges(
  { operation, subject, subjectId, isOutside }: RecordedChange,
  noted: NotingWriter,
): SubjectChange[] {
  const changes = noted.changes(operation, subject, subjectId)
  if (changes.length > 0 || !isOutside || subject.length === 0) return changes
  return [{ operation, kind: 'table', id: noted.kept(subject), effect: 'changed' }]
}

/** What the operations of a transaction changed, in their order. */
function changesInside({ inner }: NotingWriter): SubjectChange[] {
  return [...inner].sort((a, b) => a.at - b.at).flatMap(({ changes }) => changes)
}
