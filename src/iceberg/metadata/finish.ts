import type { Steps } from '../../base/scheduling/time-slice.ts'
import { illegalArgument, validation } from '../errors.ts'
import type { Draft } from './draft.ts'
import { checkMetadataLog, checkSnapshotLog, correctSnapshotLog, extendMetadataLog } from './logs.ts'
import type { Numbered } from './numbered.ts'
import { checkSpec } from './partition-spec.ts'
import { sequenceNumber } from './snapshots.ts'
import { checkSortOrder } from './sort-order.ts'
import {
  type Long,
  type MetadataLogEntry,
  newestVersion,
  rowLineageVersion,
  type SnapshotLogEntry,
  type TableMetadata,
} from './types.ts'

/** The metadata that updates made of a draft: the base itself where they changed nothing. */
export function* finish(draft: Draft, previousLocation: string | undefined): Steps<TableMetadata> {
  const { base } = draft
  if (base !== undefined && draft.changes === 0) return base
  checkDraft(draft)
  const { now, properties } = draft
  const snapshotLog = yield* finishSnapshotLog(draft)
  const metadataLog = finishMetadataLog(draft, properties, previousLocation)
  const before = base?.['snapshot-log'].length ?? 0
  // Where entries were only added, those before them are known to be in order.
  const isLonger = snapshotLog.length === before + draft.newLogEntries.length
  checkSnapshotLog(snapshotLog, now, isLonger ? before : 0)
  checkMetadataLog(metadataLog, now)
  return {
    ...withoutVersioned(base),
    'format-version': draft.formatVersion,
    ...(draft.uuid === undefined ? {} : { 'table-uuid': draft.uuid }),
    location: draft.location!,
    ...versioned(draft),
    'last-updated-ms': now,
    'last-column-id': draft.lastColumnId,
    'current-schema-id': draft.currentSchemaId,
    schemas: listOf(draft.schemas, base?.schemas),
    'default-spec-id': draft.defaultSpecId,
    'partition-specs': listOf(draft.specs, base?.['partition-specs']),
    'last-partition-id': draft.lastPartitionId,
    'default-sort-order-id': draft.defaultSortOrderId,
    'sort-orders': listOf(draft.sortOrders, base?.['sort-orders']),
    properties,
    ...draft.snapshotMembers(),
    'snapshot-log': snapshotLog,
    'metadata-log': metadataLog,
  }
}

/** The members whose presence depends on the version of the format. */
const versionedMembers = [
  'last-sequence-number',
  'schema',
  'partition-spec',
  'next-row-id',
  'encryption-keys',
]

function withoutVersioned(base: TableMetadata | undefined): { readonly [member: string]: unknown } {
  const copy: Record<string, unknown> = { ...base }
  for (const name of versionedMembers) delete copy[name]
  return copy
}

function versioned(draft: Draft): Partial<TableMetadata> {
  const { formatVersion, lastSequenceNumber, nextRowId } = draft
  return {
    ...(formatVersion > 1
      ? { 'last-sequence-number': lastSequenceNumber }
      : // Old readers know these two only.
        { schema: draft.currentSchema(), 'partition-spec': draft.defaultSpec().fields }),
    ...(formatVersion >= rowLineageVersion ? { 'next-row-id': nextRowId } : {}),
  }
}

function listOf<T>(items: Numbered<T>, before: readonly T[] | undefined): readonly T[] {
  return before === undefined || items.changed ? [...items.values()] : before
}

/** What holds for all tables, as far as updates may have changed it. */
function checkDraft(draft: Draft): void {
  const { formatVersion, uuid, location, lastSequenceNumber } = draft
  if (formatVersion < 1 || formatVersion > newestVersion)
    throw illegalArgument(`Unsupported format version: v${formatVersion} (supported: v${newestVersion})`)
  checkSpec(draft.defaultSpec(), draft.currentSchema())
  checkSortOrder(draft.defaultSortOrder(), draft.currentSchema())
  if (formatVersion > 1 && uuid === undefined)
    throw illegalArgument(`UUID is required in format v${formatVersion}`)
  if (location === undefined) throw illegalArgument(`Table location is required in format v${formatVersion}`)
  if (formatVersion === 1 && lastSequenceNumber !== 0)
    throw illegalArgument(`Sequence number must be 0 in v1: ${lastSequenceNumber}`)
  if (lastSequenceNumber < (draft.base?.['last-sequence-number'] ?? 0) || draft.addedSnapshots.size > 1)
    checkSequenceNumbers(draft)
}

/** A snapshot without a parent may have a lower sequence number than others, which must not stay then. */
function checkSequenceNumbers(draft: Draft): void {
  for (const snapshot of draft.snapshots.toList())
    if (sequenceNumber(snapshot) > draft.lastSequenceNumber)
      throw validation(
        `Invalid snapshot with sequence number ${sequenceNumber(snapshot)} greater than last sequence number ${draft.lastSequenceNumber}`,
      )
}

function finishSnapshotLog(draft: Draft): Steps<readonly SnapshotLogEntry[]> {
  const before = draft.base?.['snapshot-log'] ?? []
  const log = draft.newLogEntries.length === 0 ? before : [...before, ...draft.newLogEntries]
  const intermediate = new Set<Long>()
  for (const id of draft.madeCurrent) if (id !== draft.currentSnapshotId) intermediate.add(id)
  return correctSnapshotLog(log, {
    exists: (id) => draft.snapshots.get(id) !== undefined,
    intermediate,
    removed: draft.removedSnapshots,
    current: draft.currentSnapshotId,
  })
}

function finishMetadataLog(
  draft: Draft,
  properties: Readonly<Record<string, string>>,
  previousLocation: string | undefined,
): readonly MetadataLogEntry[] {
  const { base } = draft
  if (base === undefined) return []
  if (previousLocation === undefined) return base['metadata-log']
  const previous = { 'timestamp-ms': base['last-updated-ms'], 'metadata-file': previousLocation }
  return extendMetadataLog(base['metadata-log'], previous, properties)
}
