import type { Steps } from '../../base/scheduling/time-slice.ts'
import { commitFailed, illegalArgument, validation } from '../errors.ts'
import type { Draft } from './draft.ts'
import { readEncryptionKey } from './encryption-keys.ts'
import { addLongs } from './long.ts'
import { longItem, member, readLong, readLongList, readString } from './read.ts'
import { refOf } from './refs.ts'
import { readSnapshot, sequenceNumber, toAdd } from './snapshots.ts'
import { readPartitionStatistics, readStatistics } from './statistics.ts'
import { type JsonObject, type Long, mainBranch, rowLineageVersion, type Snapshot } from './types.ts'

/* Updates of snapshots and what belongs to them: references, statistics, keys. */

export function addSnapshot(draft: Draft, update: JsonObject, where: string): void {
  const snapshot = toAdd(readSnapshot(member(update, 'snapshot'), `${where}.snapshot`))
  const id = snapshot['snapshot-id']
  const number = sequenceNumber(snapshot)
  if (draft.schemas.size === 0) throw validation('Attempting to add a snapshot before a schema is added')
  if (draft.specs.size === 0)
    throw validation('Attempting to add a snapshot before a partition spec is added')
  if (draft.sortOrders.size === 0)
    throw validation('Attempting to add a snapshot before a sort order is added')
  if (draft.snapshots.get(id) !== undefined) throw validation(`Snapshot already exists for id: ${id}`)
  if (number < 0) throw illegalArgument(`Invalid sequence number (cannot be negative): ${number}`)
  const isRoot = member(snapshot, 'parent-snapshot-id') === undefined
  if (draft.formatVersion > 1 && number <= draft.lastSequenceNumber && !isRoot)
    throw stale(
      draft,
      `Cannot add snapshot with sequence number ${number} older than last sequence number ${draft.lastSequenceNumber}`,
    )
  if (draft.formatVersion >= rowLineageVersion) assignRows(draft, snapshot)
  draft.lastSequenceNumber = number
  draft.snapshots.add(snapshot)
  draft.addedSnapshots.add(id)
  draft.changes++
}

/** Rows of a new snapshot have ids from its `first-row-id` on, which the next snapshot must leave alone. */
function assignRows(draft: Draft, snapshot: Snapshot): void {
  const first = snapshot['first-row-id'] ?? undefined
  if (first === undefined) throw validation('Cannot add a snapshot: first-row-id is null')
  if (first < draft.nextRowId)
    throw stale(
      draft,
      `Cannot add a snapshot, first-row-id is behind table next-row-id: ${first} < ${draft.nextRowId}`,
    )
  draft.nextRowId = addLongs(first, snapshot['added-rows'] ?? 0, 'next-row-id')
}

/** A commit on a state that others replaced. The client repeats it on the new one; a new table has no other state. */
function stale(draft: Draft, fact: string): Error {
  return draft.base === undefined
    ? validation(fact)
    : commitFailed(`Validation failed, please retry: ${fact}`)
}

export function setSnapshotRef(draft: Draft, update: JsonObject, where: string): void {
  const name = readString(update, 'ref-name', where)
  const ref = refOf(update, where)
  const id = ref['snapshot-id']
  const snapshot = draft.snapshots.get(id)
  if (snapshot === undefined) throw validation(`Cannot set ${name.slice(0, 100)} to unknown snapshot: ${id}`)
  if (!draft.refs.set(name, ref)) return
  draft.changes++
  if (name !== mainBranch) return
  draft.currentSnapshotId = id
  const isAdded = draft.addedSnapshots.has(id)
  if (isAdded) draft.madeCurrent.add(id)
  // A rollback happens now, and not when its snapshot was made.
  draft.newLogEntries.push({
    'timestamp-ms': isAdded ? snapshot['timestamp-ms'] : draft.now,
    'snapshot-id': id,
  })
}

export function* removeSnapshots(draft: Draft, update: JsonObject, where: string): Steps<void> {
  const ids = yield* readLongList(update, 'snapshot-ids', where, longItem)
  yield* draft.snapshots.index()
  for (const id of ids) {
    removeSnapshot(draft, id)
    yield
  }
}

function removeSnapshot(draft: Draft, id: Long): void {
  if (!draft.snapshots.delete(id)) return
  draft.removedSnapshots = true
  draft.changes++
  draft.statistics.delete(id)
  draft.partitionStatistics.delete(id)
  for (const name of draft.refs.namesOf(id)) draft.removeRef(name)
}

export function removeSnapshotRef(draft: Draft, update: JsonObject, where: string): void {
  draft.removeRef(readString(update, 'ref-name', where))
}

export function setStatistics(draft: Draft, update: JsonObject, where: string): void {
  draft.statistics.set(readStatistics(member(update, 'statistics'), `${where}.statistics`))
  draft.changes++
}

export function removeStatistics(draft: Draft, update: JsonObject, where: string): void {
  if (draft.statistics.delete(readLong(update, 'snapshot-id', where))) draft.changes++
}

export function setPartitionStatistics(draft: Draft, update: JsonObject, where: string): void {
  const at = `${where}.partition-statistics`
  draft.partitionStatistics.set(readPartitionStatistics(member(update, 'partition-statistics'), at))
  draft.changes++
}

export function removePartitionStatistics(draft: Draft, update: JsonObject, where: string): void {
  if (draft.partitionStatistics.delete(readLong(update, 'snapshot-id', where))) draft.changes++
}

export function addEncryptionKey(draft: Draft, update: JsonObject, where: string): void {
  const key = readEncryptionKey(member(update, 'encryption-key'), `${where}.encryption-key`)
  if (draft.encryptionKeys.has(key['key-id'])) return
  draft.encryptionKeys.set(key['key-id'], key)
  draft.changes++
}

export function removeEncryptionKey(draft: Draft, update: JsonObject, where: string): void {
  if (draft.encryptionKeys.delete(readString(update, 'key-id', where))) draft.changes++
}
