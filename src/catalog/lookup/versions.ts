import { CatalogError, invalid } from '../../base/errors.ts'
import type { TableVersion } from '../../base/model/fields.ts'
import { formatIdentifier, type Identifier, quote } from '../../base/model/identifier.ts'
import {
  type BranchRecord,
  type Head,
  keys,
  type TagRecord,
  type VersionRecord,
} from '../../base/store/records.ts'
import type { Key, Reader, Value, Writer } from '../../base/store/store.ts'
import { changeTable, type FoundTable, withoutMainHead } from './names.ts'
import { retiredAt } from './retired.ts'
import { timeAfter, versionAt } from './version-at.ts'

/** A version of a table, on one of its branches (`''` is the main branch). */
export interface FoundVersion {
  readonly branch: string
  readonly version: number
  readonly record: VersionRecord
}

/**
 * The version that a request means: one by its number, a tag or a time, or else the latest. `''` is the main branch.
 */
export interface WantedVersion {
  readonly branch: string
  readonly version?: number | null | undefined
  readonly tag?: string | null | undefined
  /** A time, as ISO 8601: the newest version that was made until then. */
  readonly at?: string | null | undefined
}

/** The branch and the number of the version that a request means; no number for the latest. */
export function wantedVersion(
  reader: Reader,
  id: Identifier,
  table: FoundTable,
  { branch, version, tag, at }: WantedVersion,
  now: number,
): { branch: string; version: number | undefined } {
  if (at !== undefined && at !== null) {
    if ((version ?? tag ?? undefined) !== undefined) {
      throw invalid('at cannot be used together with version or tag, since each names a version. Give one.')
    }
    const { latest } = headOf(reader, id, table, branch)
    if (latest === null) return { branch, version: undefined }
    const where = `the table ${formatIdentifier(id)}${onBranch(branch)}`
    return { branch, version: versionAt(reader, { table: table.id, branch, latest, where }, at, now) }
  }
  if (tag === undefined || tag === null) return { branch, version: version ?? undefined }
  if ((version !== undefined && version !== null) || branch !== '') {
    throw invalid('tag cannot be used together with version or branch, since it says both. Give one of them.')
  }
  return findTag(reader, id, table.id, tag)
}

/** Whether a request names a version, and does not take the latest. */
export function namesVersion({ version, tag, at }: Readonly<Record<string, unknown>>): boolean {
  return (version ?? tag ?? at ?? undefined) !== undefined
}

/** Refuses a request that names no version, where the latest would make no sense. */
export function requireWanted(
  operation: string,
  wanted: Omit<WantedVersion, 'branch'>,
  ways = 'version, the number of one, tag, its tag, or at, a time such as 2026-11-01T00:00:00Z',
): void {
  if (namesVersion(wanted)) return
  throw invalid(`${operation}: version is missing. Give ${ways}.`)
}

export function headOf(reader: Reader, id: Identifier, table: FoundTable, branch: string): Head {
  return branch === '' ? table.record.main : findBranch(reader, id, table.id, branch).head
}

export function findBranch(reader: Reader, id: Identifier, internalId: string, branch: string): BranchRecord {
  const record = reader.get<BranchRecord>(keys.branch(internalId, branch))
  if (record !== undefined) return record
  throw branchNotFound(id, branch)
}

export function branchNotFound(id: Identifier, branch: string): CatalogError {
  return new CatalogError(
    'TableBranchNotFound',
    `The table ${formatIdentifier(id)} has no branch ${quote(branch)}. List its branches to see which exist, or leave branch out for the main branch.`,
  )
}

export function branchExists(id: Identifier, branch: string): CatalogError {
  return new CatalogError(
    'TableBranchAlreadyExists',
    `The table ${formatIdentifier(id)} already has a branch ${quote(branch)}. Choose another name, or delete that branch first.`,
  )
}

export function findTag(reader: Reader, id: Identifier, internalId: string, tag: string): TagRecord {
  const record = reader.get<TagRecord>(keys.tag(internalId, tag))
  if (record !== undefined) return record
  throw tagNotFound(id, tag)
}

export function tagNotFound(id: Identifier, tag: string): CatalogError {
  return new CatalogError(
    'TableTagNotFound',
    `The table ${formatIdentifier(id)} has no tag ${quote(tag)}. List its tags to see which exist, or create this one first.`,
  )
}

export function tagExists(id: Identifier, tag: string, version: number): CatalogError {
  return new CatalogError(
    'TableTagAlreadyExists',
    `The table ${formatIdentifier(id)} already has the tag ${quote(tag)}, on version ${version}. Update the tag to move it.`,
  )
}

/** One version of a branch; the latest when `version` is undefined. */
export function findVersion(
  reader: Reader,
  id: Identifier,
  table: FoundTable,
  branch: string,
  version?: number,
): FoundVersion {
  const { latest } = headOf(reader, id, table, branch)
  const wanted = version ?? latest
  const record =
    wanted === null ? undefined : reader.get<VersionRecord>(keys.version(table.id, branch, wanted))
  if (wanted !== null && record !== undefined) return { branch, version: wanted, record }
  const retired = wanted === null ? undefined : retiredAt(reader, table.id, branch, wanted)
  if (retired !== undefined) {
    throw new CatalogError(
      'TableVersionNotFound',
      `Retention removed version ${wanted} of the table ${formatIdentifier(id)}${onBranch(branch)} at ${new Date(retired).toISOString()}; its latest is ${latest}. List its versions to see which exist, and tag those that are to stay.`,
    )
  }
  throw new CatalogError(
    'TableVersionNotFound',
    latest === null
      ? `The table ${formatIdentifier(id)} is declared and has no version yet. Insert rows or create a version first.`
      : `The table ${formatIdentifier(id)}${onBranch(branch)} has no version ${wanted}; its latest is ${latest}. List its versions to see which exist.`,
  )
}

/** The version that a request means; the latest when it names none. */
export function findWanted(
  reader: Reader,
  id: Identifier,
  table: FoundTable,
  wanted: WantedVersion,
  now: number,
): FoundVersion {
  const { branch, version } = wantedVersion(reader, id, table, wanted, now)
  return findVersion(reader, id, table, branch, version)
}

/**
 * How a change of rows depends on a record: on all but the head of its branch, which may move on before the change is
 * committed. The group is the table. Undefined for other records, which are compared in full.
 */
export function withoutHead(
  key: Key,
  value: Value,
): { readonly group: string; readonly kept: Value | undefined } | undefined {
  if (key.length === 3 && key[0] === 'b') {
    const { head: _, ...kept } = value as BranchRecord
    return { group: String(key[1]), kept }
  }
  // Which version is the latest follows from the head.
  if (key.length === 4 && key[0] === 'v') return { group: String(key[1]), kept: undefined }
  return withoutMainHead(key, value)
}

/**
 * A record of a transaction as its commit writes it: a version that an operation of it made, as `isOwn` tells, is as
 * late as the commit. Nobody else could read it before.
 */
export function madeAtCommit(
  key: Key,
  value: Value,
  isOwn: (transactionId: string) => boolean,
  now: number,
): Value {
  if (key[0] !== 'v' || key.length !== 4) return value
  const record = value as VersionRecord
  if (record.timestamp_millis >= now || !isOwn(record.transaction_id)) return value
  return { ...record, timestamp_millis: now }
}

/**
 * The branch whose head a record holds, by the id of the table and the name of the branch (`''` is the main branch).
 */
export function branchOf(key: Key, value: Value | undefined): string | undefined {
  if ((key[0] === 'b' || key[0] === 'v') && key.length >= 3) return `${key[1]}/${key[2]}`
  const main = value === undefined ? undefined : withoutMainHead(key, value)
  return main && `${main.group}/`
}

/** Adds a version as the latest of its branch, behind the one that is the latest now. Returns its record. */
export function putVersion(
  writer: Writer,
  {
    table,
    branch,
    before,
  }: { readonly table: FoundTable; readonly branch: string; readonly before: VersionRecord | undefined },
  version: number,
  made: VersionRecord,
): VersionRecord {
  const time = timeAfter(before, made.timestamp_millis)
  const record = time === made.timestamp_millis ? made : { ...made, timestamp_millis: time }
  writer.put(keys.version(table.id, branch, version), record)
  putHead(writer, table, branch, { latest: version, last: version })
  return record
}

/** Sets the head of a branch. `table` must have been read in the same transaction. */
export function putHead(writer: Writer, table: FoundTable, branch: string, head: Head): void {
  if (branch === '') {
    changeTable(writer, table.id, { ...table.record, main: head })
  } else {
    const key = keys.branch(table.id, branch)
    writer.put(key, { ...writer.get<BranchRecord>(key)!, head })
  }
}

export function nextVersion(head: Head): number {
  return head.last === null ? 1 : head.last + 1
}

/** A version in the form of responses. */
export function toTableVersion(version: number, record: VersionRecord): TableVersion {
  return {
    version,
    manifest_path: record.manifest_path,
    ...(record.manifest_size === undefined ? {} : { manifest_size: record.manifest_size }),
    ...(record.e_tag === undefined ? {} : { e_tag: record.e_tag }),
    timestamp_millis: record.timestamp_millis,
    metadata: record.metadata ?? {},
  }
}

export function onBranch(branch: string): string {
  return branch === '' ? '' : ` on branch ${quote(branch)}`
}
