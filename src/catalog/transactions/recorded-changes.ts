import { sameNames } from '../../base/model/identifier.ts'
import type { SubjectChange } from '../../base/model/subject-change.ts'
import {
  type FeedRecord,
  keys,
  recordFormat,
  type StoredChange,
  type TransactionRecord,
} from '../../base/store/records.ts'
import type { Reader, Writer } from '../../base/store/store.ts'

/*
 * What a commit changed is in the record of its transaction, and an entry of the feed names only the transaction. Entries
 * of earlier releases hold the changes themselves.
 */

/** An entry of the feed, as it is stored. */
export type StoredEntry = string | FeedRecord

/** The most changes in the record itself, and in each further one. Larger records are slow to read and write. */
const inRecord = 16
const inPart = 1_000

/** The members of a transaction's record that say what it changed. */
export type RecordedChanges = Pick<TransactionRecord, 'changes' | 'parts' | 'origin'>

/** Nearly all changes have an effect only, beside what their records say. These are the same objects for all records. */
const effects = new Map<string, RecordedChanges>()

/** The changes for the record of their transaction. Writes those that do not fit it. */
export function storedChanges(
  writer: Writer,
  transactionId: string,
  { operation, subject }: Pick<TransactionRecord, 'operation' | 'subject'>,
  changes: readonly SubjectChange[],
): RecordedChanges {
  if (changes.length > inRecord) {
    const parts = Math.ceil(changes.length / inPart)
    for (let part = 0; part < parts; part++)
      writer.put(keys.feedPart(transactionId, part), changes.slice(part * inPart, (part + 1) * inPart))
    return { changes: noChanges, parts }
  }
  const [only] = changes
  if (changes.length === 1 && isEffectOnly(only!, operation, subject)) return effectOnly(only!.effect)
  return { changes: changes.map((change) => withoutRepeats(operation, subject, change)) }
}

function isEffectOnly(change: SubjectChange, operation: string, subject: readonly string[]): boolean {
  if (change.operation !== operation || change.kind !== 'table') return false
  if (change.id !== subject && !sameNames(change.id, subject)) return false
  for (const name in change)
    if (name !== 'operation' && name !== 'kind' && name !== 'id' && name !== 'effect') return false
  return true
}

function effectOnly(effect: SubjectChange['effect']): RecordedChanges {
  let known = effects.get(effect)
  if (known === undefined) {
    // Frozen, so that a store that keeps objects need not copy it.
    known = { changes: Object.freeze([Object.freeze({ effect })]) }
    effects.set(effect, known)
  }
  return known
}

const noChanges: readonly StoredChange[] = Object.freeze([])

/** Leaves out what follows from the record of the transaction. */
function withoutRepeats(operation: string, subject: readonly string[], change: SubjectChange): StoredChange {
  const { operation: own, kind, id, ...rest } = change
  return {
    ...(own !== operation && { operation: own }),
    ...(kind !== 'table' && { kind }),
    ...(id !== subject && !sameNames(id, subject) && { id }),
    ...rest,
  }
}

/** The entry of the feed with all its changes; undefined when its transaction is gone. */
export function wholeEntry(reader: Reader, entry: StoredEntry): FeedRecord | undefined {
  if (typeof entry !== 'string') {
    const { changes, parts = 0, transaction } = entry
    return parts === 0
      ? entry
      : { ...entry, changes: [...changes, ...furtherChanges(reader, transaction, parts)] }
  }
  const record = reader.get<TransactionRecord>(keys.transaction(entry))
  if (record?.changes === undefined) return undefined
  const { parts = 0, finished_at, created_at, origin } = record
  return {
    v: recordFormat,
    transaction: entry,
    time: finished_at ?? created_at,
    changes: parts > 0 ? furtherChanges(reader, entry, parts) : changesIn(record),
    ...origin,
  }
}

/** The changes that the record of a transaction holds itself: all of them, or none where they do not fit it. */
export function changesIn({ operation, subject, changes = [] }: TransactionRecord): SubjectChange[] {
  return changes.map((change) => {
    const { operation: own = operation, kind = 'table', id = subject, ...rest } = change
    return { operation: own, kind, id, ...rest }
  })
}

function furtherChanges(reader: Reader, transaction: string, parts: number): SubjectChange[] {
  const all: SubjectChange[] = []
  for (let part = 0; part < parts; part++)
    for (const change of reader.get<SubjectChange[]>(keys.feedPart(transaction, part)) ?? []) all.push(change)
  return all
}

/** Removes an entry of the feed, with everything that belongs to it. */
export function removeEntry(writer: Writer, key: readonly (string | number)[], entry: OldEntry): void {
  writer.remove(key)
  if (entry.hasRecord) writer.remove(keys.transaction(entry.transaction))
  for (let part = 0; part < entry.parts; part++) writer.remove(keys.feedPart(entry.transaction, part))
}

/** What retention needs to know of an entry. */
export interface OldEntry {
  readonly transaction: string
  readonly time: number
  readonly parts: number
  /** Whether its transaction's record goes with it. */
  readonly hasRecord: boolean
}

/** The part of an entry that retention needs. */
export function entryOutline(reader: Reader, entry: StoredEntry): OldEntry {
  if (typeof entry !== 'string') {
    const { transaction, time, parts = 0 } = entry
    return { transaction, time, parts, hasRecord: false }
  }
  const record = reader.get<TransactionRecord>(keys.transaction(entry))
  const { finished_at: time = 0, parts = 0 } = record ?? {}
  return { transaction: entry, time, parts, hasRecord: record !== undefined }
}
