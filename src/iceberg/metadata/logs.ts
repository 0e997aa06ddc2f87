import type { Steps } from '../../base/scheduling/time-slice.ts'
import { illegalArgument, validation } from '../errors.ts'
import { readObject, readString, withLongs } from './read.ts'
import type { JsonObject, Long, MetadataLogEntry, SnapshotLogEntry } from './types.ts'

/** Clocks of writers may differ by this much. */
const tolerance = 60_000

const previousVersions = 'write.metadata.previous-versions-max'
const defaultPreviousVersions = 100

export function readSnapshotLogEntry(value: unknown, where: string): SnapshotLogEntry {
  return withLongs(readObject(value, where), where, ['timestamp-ms', 'snapshot-id']) as SnapshotLogEntry
}

export function readMetadataLogEntry(value: unknown, where: string): MetadataLogEntry {
  const object = readObject(value, where)
  readString(object, 'metadata-file', where)
  return withLongs(object, where, ['timestamp-ms']) as MetadataLogEntry
}

function isBefore(time: Long, earlier: Long): boolean {
  return BigInt(time) - BigInt(earlier) < -tolerance
}

/**
 * Refuses a log of snapshots that is not in order of time, or ends after the last update of the table. The first `checked`
 * entries are known to be in order.
 */
export function checkSnapshotLog(log: readonly SnapshotLogEntry[], lastUpdated: Long, checked = 0): void {
  checkOrder(log, '[BUG] Expected sorted snapshot log entries.', checked)
  const last = log.at(-1)
  if (last !== undefined && isBefore(lastUpdated, last['timestamp-ms']))
    throw illegalArgument(
      `Invalid update timestamp ${lastUpdated}: before last snapshot log entry at ${last['timestamp-ms']}`,
    )
}

/** Refuses a log of metadata files that is not in order of time, or ends after the last update of the table. */
export function checkMetadataLog(log: readonly MetadataLogEntry[], lastUpdated: Long): void {
  checkOrder(log, '[BUG] Expected sorted previous metadata log entries.')
  const last = log.at(-1)
  if (last !== undefined && isBefore(lastUpdated, last['timestamp-ms']))
    throw illegalArgument(
      `Invalid update timestamp ${lastUpdated}: before the latest metadata log entry timestamp ${last['timestamp-ms']}`,
    )
}

function checkOrder(log: readonly JsonObject[], message: string, checked = 0): void {
  for (let i = Math.max(1, checked); i < log.length; i++) {
    const [before, after] = [log[i - 1]!['timestamp-ms'] as Long, log[i]!['timestamp-ms'] as Long]
    if (after < before && isBefore(after, before)) throw illegalArgument(message)
  }
}

const entriesInAStep = 500

/** What a commit did to snapshots, as far as the log of snapshots must know. */
export interface SnapshotChanges {
  readonly exists: (id: Long) => boolean
  /** Snapshots that the commit made current, but for the last one. */
  readonly intermediate: ReadonlySet<Long>
  readonly removed: boolean
  readonly current: Long | undefined
}

/**
 * The log of snapshots after a commit. Snapshots that were current within the commit only are left out. Before a removed
 * snapshot the log is cut: with a gap, another snapshot would seem to have been current at its time.
 */
export function* correctSnapshotLog(
  log: readonly SnapshotLogEntry[],
  changes: SnapshotChanges,
): Steps<readonly SnapshotLogEntry[]> {
  if (changes.intermediate.size === 0 && !changes.removed) return log
  let corrected: SnapshotLogEntry[] = []
  for (const [i, entry] of log.entries()) {
    const id = entry['snapshot-id']
    if (i % entriesInAStep === entriesInAStep - 1) yield
    if (!changes.exists(id)) {
      if (changes.removed) corrected = []
    } else if (!changes.intermediate.has(id)) corrected.push(entry)
  }
  if (endsWith(log, changes.current) && !endsWith(corrected, changes.current))
    throw validation('Cannot set invalid snapshot log: latest entry is not the current snapshot')
  return corrected
}

/** Logs of other writers may be empty, or end with another snapshot. So only a log that was right must stay so. */
function endsWith(log: readonly SnapshotLogEntry[], current: Long | undefined): boolean {
  return current === undefined || log.at(-1)?.['snapshot-id'] === current
}

/** The log of metadata files with one more, and the oldest ones left out. */
export function extendMetadataLog(
  log: readonly MetadataLogEntry[],
  previous: MetadataLogEntry,
  properties: Readonly<Record<string, string>>,
): MetadataLogEntry[] {
  const kept = Math.max(1, previousVersionsOf(properties)) - 1
  return [...(kept === 0 ? [] : log.slice(-kept)), previous]
}

function previousVersionsOf(properties: Readonly<Record<string, string>>): number {
  const text = Object.hasOwn(properties, previousVersions) ? properties[previousVersions]! : ''
  // A value that is no number must not end all commits of a table.
  return /^[+-]?\d{1,10}$/.test(text) ? Number(text) : defaultPreviousVersions
}
