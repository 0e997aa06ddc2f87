import type { Content, SharedFiles } from '../../base/content/content.ts'
import { CatalogError, invalid } from '../../base/errors.ts'
import type { TableVersion } from '../../base/model/fields.ts'
import { formatIdentifier, type Identifier, quote } from '../../base/model/identifier.ts'
import { keys, type TableRecord, type VersionRecord } from '../../base/store/records.ts'
import type { Reader } from '../../base/store/store.ts'
import { hasManifests } from '../locations/declared-only.ts'
import {
  finalNameOf,
  isStaged,
  nameOf,
  versionOfName,
  versionsFolderOf,
  waitingPathOf,
} from '../locations/lance-files.ts'
import { contentFolderOf, isManaged, locationOf } from '../locations/locations.ts'
import { type FoundTable, lookUpTable } from '../lookup/names.ts'
import { toTableVersion } from '../lookup/versions.ts'
import type { LanceContext, LanceStaging } from './context.ts'

/** The folder of a table that Lance's clients can write and the catalog can reach. */
export interface DatasetFolder {
  readonly content: Content
  readonly shared: SharedFiles
  /** The folder within the content, ending in a slash. */
  readonly prefix: string
  /** The folder as Lance names it: from the root of the disk or bucket on, ending in a slash. */
  readonly objectPath: string
}

/** A path of Lance within the content of its dataset. */
export function contentPathOf({ prefix, objectPath }: DatasetFolder, path: string): string {
  return prefix + path.slice(objectPath.length)
}

/** The path of a manifest of a branch within the content, by any path that ends in its name. */
export function manifestPathOf(
  { prefix }: Pick<DatasetFolder, 'prefix'>,
  branch: string,
  path: string,
): string {
  return prefix + versionsFolderOf(branch) + nameOf(path)
}

/** Whether there is a file. Where its state is told, nothing is opened. */
export async function isThere(content: Content, path: string): Promise<boolean> {
  const { shared } = content
  const found = await (shared?.state ? shared.state(path) : content.get(path, { start: 0, end: 0 }))
  return found !== undefined
}

/** A table as far as it decides where its dataset lies. */
export type TableAt = Pick<FoundTable, 'id'> & { readonly record: Pick<TableRecord, 'location'> }

/** The folder of a table, if the catalog can publish versions there. */
export function datasetFolderOf(core: LanceContext, { id, record }: TableAt): DatasetFolder | undefined {
  const location = locationOf(core.contentRoots, id, record)
  const folder = contentFolderOf(core.contentRoots, location)
  if (folder?.content.shared === undefined) return undefined
  const { content, prefix } = folder
  return { content, shared: content.shared!, prefix, objectPath: objectPathOf(location) }
}

/** Whether our own engine wrote a table's latest rows. */
export function isOurs(reader: Reader, { id, record: { main } }: FoundTable): boolean {
  if (main.latest === null) return false
  return reader.get<VersionRecord>(keys.version(id, '', main.latest))?.rows !== undefined
}

/** Lance has a memory of its own under `memory:`, which is another one. */
const reachedByLance = /^(?:file|s3|gs|az|abfss):/i

/** Whether Lance can write a table: it reads and writes files, or objects of a bucket. */
export function isReachedByLance(core: LanceContext, table: TableAt): boolean {
  const location = locationOf(core.contentRoots, table.id, table.record)
  return reachedByLance.test(location) && datasetFolderOf(core, table) !== undefined
}

/** A folder as Lance names it, ending in a slash. */
export function objectPathOf(location: string): string {
  const path = location.replace(/^[^/]*\/\/[^/]*\//, '').replace(/\/+$/, '')
  return `${decodeURIComponent(path)}/`
}

/** Where a manifest is to be published. */
export interface Publication {
  readonly folder: DatasetFolder
  /** As Lance names it. */
  readonly finalPath: string
}

/**
 * Where the manifest of a version is to be published. Undefined for one that is to be recorded only: it is not staged,
 * or out of reach, or a client that does not keep versions in the catalog named it in its own way. Refuses a staged
 * manifest that Lance would not look for.
 */
export function publicationOf(
  core: LanceContext,
  table: TableAt,
  { branch, version, manifest_path }: StagedVersion,
): Publication | undefined {
  if (!isStaged(manifest_path)) return undefined
  const folder = datasetFolderOf(core, table)
  if (folder === undefined) return undefined
  const stagedName = nameOf(manifest_path)
  const finalName = finalNameOf(stagedName)!
  const at = folder.objectPath + versionsFolderOf(branch)
  const isThere = manifest_path.replace(/^\/+/, '') === at + stagedName
  if (!isThere && !isManaged(core, table.record)) return undefined
  if (isThere && versionOfName(finalName) === version) return { folder, finalPath: at + finalName }
  const isElsewhere = !manifest_path.replace(/^\/+/, '').startsWith(folder.objectPath)
  throw invalid(
    `manifest_path ${quote(manifest_path)} is not a manifest of version ${version} below ${at}. ${isElsewhere ? 'The table lies there now, and another one may have had its name before: open it again.' : 'Write it there, and name it as Lance does.'}`,
  )
}

/** What a request says of a version whose manifest is to be published. */
export interface StagedVersion {
  readonly branch: string
  readonly version: number
  readonly manifest_path: string
}

/** A version to create, as a request gives it. */
export interface VersionToPublish extends StagedVersion {
  readonly id: Identifier
}

/** A manifest to publish, which is on disk. */
export interface StagedManifest extends Publication {
  readonly table: TableAt
  /** Undefined when there is no such file. */
  readonly size: number | undefined
  /** Whether the work has yet to make the table, and its location already holds versions to adopt. */
  readonly hasVersionsToAdopt: boolean
}

/** The manifests to publish, by the versions in the request. */
export type StagedManifests = ReadonlyMap<VersionToPublish, StagedManifest>

export interface WaitingVersion {
  readonly id: Identifier
  readonly branch: string
  readonly version: number
  /** The internal id of its table. */
  readonly table: string
  readonly folder: DatasetFolder
  /** The manifest as its writer named it in the request. */
  readonly staging_path: string
}

/** By transaction, and by the names that their writers gave the manifests. */
const waiting = new WeakMap<LanceStaging, Map<string, WaitingVersion>>()

/** The versions of a transaction whose manifests wait for its commit. */
export function waitingVersions(staging: LanceStaging): Map<string, WaitingVersion> {
  const found = waiting.get(staging)
  if (found !== undefined) return found
  const made = new Map<string, WaitingVersion>()
  waiting.set(staging, made)
  return made
}

/** Whether a version waits for the commit of the transaction that `core` is inside of. */
export function isWaiting({ staging }: LanceContext, { staging_path }: VersionRecord): boolean {
  if (staging === undefined || staging_path === undefined) return false
  return waiting.get(staging)?.has(staging_path) === true
}

/**
 * Whether callers may be told of a version, given the newest one that was looked at with its branch. The manifest of a
 * later one may not be there yet. Lance takes such a version for a dataset that does not exist, and an append to it
 * replaces all rows.
 */
export function mayBeTold(
  core: LanceContext,
  version: number,
  record: VersionRecord,
  newest: number | undefined,
): boolean {
  // What was not staged is never published.
  const mayBeMissing = newest !== undefined && version > newest && record.staging_path !== undefined
  return !mayBeMissing || isWaiting(core, record)
}

/** Where the manifest of a version waits for a commit, within the folder of its dataset. Undefined for one that does not. */
export function waitingWithin(core: LanceContext, record: VersionRecord): string | undefined {
  if (!isWaiting(core, record)) return undefined
  return waitingPathOf(core.staging!.transactionId, nameOf(record.staging_path!))
}

/** A version in the form of responses, with the path at which the caller finds its manifest. */
export function toVersionFor(core: LanceContext, version: number, record: VersionRecord): TableVersion {
  const described = toTableVersion(version, record)
  const path = waitingWithin(core, record)
  if (path === undefined) return described
  const { folder } = waiting.get(core.staging!)!.get(record.staging_path!)!
  return { ...described, manifest_path: folder.objectPath + path }
}

/** A table whose folder holds a dataset of Lance. */
export interface Dataset {
  readonly table: FoundTable
  readonly folder: DatasetFolder
}

/**
 * The dataset of a table. Undefined when our own engine wrote the rows, or they are out of reach, or there are none.
 */
export async function findDataset(core: LanceContext, id: Identifier): Promise<Dataset | undefined> {
  const found = await core.store.read((reader) => {
    const table = lookUpTable(reader, id)
    const folder = table && !isOurs(reader, table) ? datasetFolderOf(core, table) : undefined
    return table && folder && { table, folder, isWaiting: hasWaiting(core, reader, table) }
  })
  if (found === undefined) return undefined
  const { isWaiting, ...dataset } = found
  return isWaiting || (await hasManifests(dataset.folder.shared, dataset.folder.prefix)) ? dataset : undefined
}

/** Whether a transaction over many operations has written a table that may have no manifest outside. */
function hasWaiting(core: LanceContext, reader: Reader, { id, record: { main } }: FoundTable): boolean {
  if (core.staging === undefined || main.latest === null) return false
  const latest = reader.get<VersionRecord>(keys.version(id, '', main.latest))
  return latest !== undefined && isWaiting(core, latest)
}

/**
 * Refuses a change of the files of a Lance dataset inside of a transaction over many operations: others would see it
 * before the commit, and it would stay after a rollback.
 */
export function requireOutside({ staging }: LanceContext, id: Identifier, what: string): void {
  if (staging === undefined) return
  throw new CatalogError(
    'InvalidTableState',
    `The ${what} of the table ${formatIdentifier(id)} are files of Lance, which cannot wait for the commit of a transaction. Change them after the transaction, or before it.`,
  )
}

/** Refuses a name of a tag or branch that Lance does not open. */
export function checkRefName(field: string, name: string): void {
  const isOpened =
    !name.includes('..') && !name.endsWith('.lock') && !name.startsWith('.') && !name.endsWith('.')
  if (isOpened) return
  throw invalid(
    `${field} ${quote(name)} is not a name that Lance opens: it begins or ends with ".", holds "..", or ends with ".lock". Choose another name.`,
  )
}
