import {
  type BranchRecord,
  type Head,
  keys,
  recordFormat,
  type VersionRecord,
} from '../../base/store/records.ts'
import type { Reader, Writer } from '../../base/store/store.ts'
import { versionOfName, versionsFolderOf } from '../locations/lance-files.ts'
import type { FoundTable } from '../lookup/names.ts'
import { timeAfter } from '../lookup/version-at.ts'
import { putHead } from '../lookup/versions.ts'
import type { ChangeContext } from '../transactions/commit.ts'
import type { DatasetFolder } from './dataset.ts'

/** How the records of a branch differ from its manifests. */
export interface Differences {
  /** Versions that have a manifest and no record. */
  readonly adopted: ReadonlyMap<number, VersionRecord>
  /** Versions whose record is no longer valid, with the transaction that wrote the record. */
  readonly gone: ReadonlyMap<number, string>
}

/** Records for the manifests of some versions. The transaction that stores a record sets its own id. */
export async function readManifests(
  { content, prefix, objectPath }: DatasetFolder,
  branch: string,
  versions: ReadonlySet<number>,
): Promise<Map<number, VersionRecord>> {
  const records = new Map<number, VersionRecord>()
  if (versions.size === 0) return records
  const folder = versionsFolderOf(branch)
  for await (const { path, size, modified } of content.list(prefix + folder)) {
    const name = path.slice(prefix.length + folder.length)
    const version = versionOfName(name)
    if (version === undefined || !versions.has(version)) continue
    records.set(version, {
      v: recordFormat,
      manifest_path: objectPath + folder + name,
      manifest_size: size,
      timestamp_millis: Math.floor(modified),
      transaction_id: '',
    })
  }
  return records
}

/** Applies differences to the records as they are now. Returns whether anything changed. */
export function applyDifferences(
  { writer, transactionId, now }: ChangeContext,
  table: FoundTable,
  branch: string,
  { adopted, gone }: Differences,
): boolean {
  let changed = false
  const keyOf = (version: number) => keys.version(table.id, branch, version)
  for (const [version, transaction] of gone) {
    if (writer.get<VersionRecord>(keyOf(version))?.transaction_id !== transaction) continue
    writer.remove(keyOf(version))
    changed = true
  }
  for (const [version, record] of [...adopted].sort(([a], [b]) => a - b)) {
    if (writer.get(keyOf(version)) !== undefined) continue
    const timestamp_millis = timeAfter(lastBefore(writer, table, branch, version), record.timestamp_millis)
    writer.put(keyOf(version), { ...record, timestamp_millis, transaction_id: transactionId })
    changed = true
  }
  if (changed) putHeadOfFiles(writer, table, branch, now)
  return changed
}

/** Lance counts on from the latest manifest. So does the catalog, even if a number is used a second time. */
function putHeadOfFiles(writer: Writer, table: FoundTable, branch: string, now: number): void {
  const latest = latestIn(writer, table, branch)
  const head: Head = { latest, last: latest }
  const key = keys.branch(table.id, branch)
  if (branch === '' || (latest !== null && writer.get(key) !== undefined))
    putHead(writer, table, branch, head)
  else if (latest !== null) writer.put(key, newBranch(head, latest, now))
  else writer.remove(key)
}

/** The version before a number. The files of a dataset that was copied may be of any time. */
function lastBefore(reader: Reader, table: FoundTable, branch: string, version: number) {
  const [prefix, end] = [keys.versions(table.id, branch), keys.version(table.id, branch, version)]
  for (const { value } of reader.range<VersionRecord>({ prefix, end, reverse: true, limit: 1 })) return value
  return undefined
}

function latestIn(reader: Reader, table: FoundTable, branch: string): number | null {
  const newest = { prefix: keys.versions(table.id, branch), reverse: true, limit: 1, keysOnly: true }
  for (const { key } of reader.range(newest)) return Number(key[3])
  return null
}

/** The record of a branch that Lance makes. The dataset has its origin. */
export function newBranch(head: Head, parent_version: number, now: number): BranchRecord {
  return { v: recordFormat, head, parent_branch: '', parent_version, created_at: now }
}
