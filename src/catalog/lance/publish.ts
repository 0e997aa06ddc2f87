import { CatalogError } from '../../base/errors.ts'
import { formatIdentifier, quote } from '../../base/model/identifier.ts'
import { once } from '../../base/once.ts'
import { type BranchRecord, keys, type VersionRecord } from '../../base/store/records.ts'
import type { Reader } from '../../base/store/store.ts'
import { hasManifests } from '../locations/declared-only.ts'
import { isStaged, nameBefore } from '../locations/lance-files.ts'
import { lookUpTable, tableById } from '../lookup/names.ts'
import { onBranch } from '../lookup/versions.ts'
import { isRetryable } from '../transactions/retry.ts'
import type { LanceContext, LanceStaging } from './context.ts'
import {
  contentPathOf,
  isThere,
  manifestPathOf,
  publicationOf,
  type StagedManifest,
  type StagedManifests,
  type TableAt,
  type VersionToPublish,
  type WaitingVersion,
} from './dataset.ts'
import { linkAll, type ManifestLink } from './link-all.ts'
import { confirm, reconcile } from './reconcile.ts'
import type { TransactionIds } from './repeated-commit.ts'
import { waitingManifests } from './waiting.ts'

/*
 * A version is recorded first, and then its manifest gets its final name, before the request is answered. The record
 * decides between writers. When the process dies in between, the next request for the branch publishes the manifest.
 */

/** Finds the tables that versions are created of. */
export type FindTables = (reader: Reader, version: VersionToPublish) => TableAt | undefined

const byName: FindTables = (reader, { id }) => lookUpTable(reader, id)

const none: StagedManifests = new Map()

interface Publishing<T> {
  /** For work that makes tables itself. */
  readonly find?: FindTables
  /** Whether the branches were reconciled for the same work. Then only what would be in the way is looked for. */
  readonly isReconciled?: boolean
  /**
   * Called with the result once the manifests have their final names, and perhaps before these are durable. Not where
   * they were published in another way.
   */
  readonly onNamed?: (result: T) => void
}

/**
 * Runs work that records versions, and publishes their manifests after it. When a version is refused, its staged
 * manifest is removed. Versions without a staged manifest are recorded only.
 */
export function publishing<T>(
  core: LanceContext,
  versions: readonly VersionToPublish[],
  work: (staged: StagedManifests) => Promise<T>,
  { find = byName, isReconciled = false, onNamed = () => {} }: Publishing<T> = {},
): Promise<T> {
  const toPublish = versions.filter(mayBePublished)
  if (toPublish.length === 0) return work(none)
  const { staging } = core
  return staging
    ? deferPublication(core, staging, toPublish, find, work)
    : publishAfter(core, toPublish, { find, isReconciled, onNamed }, work)
}

/** Whether a version has a manifest that a writer of Lance staged. */
export function mayBePublished({ manifest_path }: Pick<VersionToPublish, 'manifest_path'>): boolean {
  return isStaged(manifest_path)
}

/** Inside of a transaction over many operations, manifests are published by its commit. */
async function deferPublication<T>(
  core: LanceContext,
  staging: LanceStaging,
  versions: readonly VersionToPublish[],
  find: FindTables,
  work: (staged: StagedManifests) => Promise<T>,
): Promise<T> {
  for (const { id, branch } of branchesOf(versions, ({ id }) => id)) await reconcile(core, id, branch)
  const staged = await findManifests(core, versions, find)
  const waiting = waitingManifests(staging)
  const added: WaitingVersion[] = []
  try {
    for (const [{ id, branch, version, manifest_path: staging_path }, { table, folder, size }] of staged) {
      const one = { id, branch, version, staging_path, table: table.id, folder }
      if (size !== undefined && (await waiting.add(one))) added.push(one)
    }
    await refuseRepeated(core, staged)
    const result = await work(staged)
    await Promise.all(added.map((version) => waiting.removeOriginal(version)))
    return result
  } catch (error) {
    await Promise.all(added.map((version) => waiting.withdraw(version)))
    if (isRefusal(error)) await Promise.all(added.map((version) => waiting.removeOriginal(version)))
    throw error
  }
}

/**
 * Refuses a version that would make its branch inside of a transaction: Lance writes the branch's own file right after
 * it, and not at the commit.
 */
export function requireBranch(reader: Reader, { table }: StagedManifest, version: VersionToPublish): void {
  const { id, branch } = version
  if (branch === '' || reader.get(keys.branch(table.id, branch)) !== undefined) return
  throw new CatalogError(
    'TableBranchNotFound',
    `The table ${formatIdentifier(id)} has no branch ${quote(branch)}, and a branch of Lance cannot wait for the commit of a transaction. Create the branch before the transaction.`,
  )
}

/** Loaded once there is a manifest to publish. */
const repeatedCommit = /* @__PURE__ */ once(() => import('./repeated-commit.ts'))

const noIds: TransactionIds = new Map()

/** Refuses versions that a writer committed before, and whose answer it missed. */
async function refuseRepeated(core: LanceContext, staged: StagedManifests): Promise<TransactionIds> {
  return staged.size > 0 ? (await repeatedCommit()).refuseRepeated(core, staged) : noIds
}

/** Whether an error means that the versions will never be published. */
function isRefusal(error: unknown): boolean {
  return error instanceof CatalogError && error.code === 'ConcurrentModification' && !isRetryable(error)
}

async function publishAfter<T>(
  core: LanceContext,
  versions: readonly VersionToPublish[],
  { find, isReconciled, onNamed }: Required<Publishing<T>>,
  work: (staged: StagedManifests) => Promise<T>,
): Promise<T> {
  const early = isReconciled ? await findPlaces(core, versions, find) : undefined
  let [staged, isReady] = early ? await Promise.all([syncManifests(early), isClear(early)]) : [none, false]
  if (!isReady) {
    // First publishes what others left unpublished, and adopts what they published past the catalog.
    for (const { id, branch } of branchesOf(versions, ({ id }) => id)) await reconcile(core, id, branch)
    staged = await findManifests(core, versions, find)
  }
  let result: T
  let ids: TransactionIds
  try {
    ids = await refuseRepeated(core, staged)
    result = await work(staged)
  } catch (error) {
    if (isRefusal(error)) await removeRefused(core, staged)
    throw error
  }
  const named = () => {
    for (const [{ branch, version }, { table }] of inOrder(staged)) confirm(core, table, branch, version)
    onNamed(result)
  }
  if (await publishNow(staged, named)) return result
  await reconcileAgain(core, staged)
  const ofOthers = await publishedByOthers(staged, ids)
  if (ofOthers.length > 0) await reconcileAgain(core, staged, ofOthers)
  await requirePublished(core, staged)
  return result
}

/** Reconciles the branches of versions once these are recorded. */
async function reconcileAgain(
  core: LanceContext,
  staged: StagedManifests,
  ofOthers: readonly VersionToPublish[] = [],
): Promise<void> {
  const tableOf = (version: VersionToPublish) => staged.get(version)!.table
  for (const version of branchesOf([...staged.keys()], (one) => tableOf(one).id)) {
    const { id, branch } = version
    const table = tableOf(version)
    const isOfBranch = (one: VersionToPublish) => tableOf(one).id === table.id && one.branch === branch
    const notOurs = new Set(ofOthers.filter(isOfBranch).map((one) => one.version))
    // The table may have been renamed meanwhile.
    await reconcile(core, id, branch, (reader) => tableById(reader, table.id), notOurs)
  }
}

/**
 * Publishes versions that follow on published ones. Returns whether nothing is left to do: otherwise others are at work
 * on the same branch.
 */
async function publishNow(staged: StagedManifests, onNamed: () => void): Promise<boolean> {
  const links = linksOf(staged)
  if (!(await follow(links)) || !(await linkAll(links, onNamed))) return false
  await Promise.all(links.map(({ content, from }) => content.remove(from)))
  return true
}

/** Versions whose numbers other programs have taken. Their staged manifests may be gone. */
async function publishedByOthers(
  staged: StagedManifests,
  ids: TransactionIds,
): Promise<readonly VersionToPublish[]> {
  const { isOfAnother } = await repeatedCommit()
  const found: VersionToPublish[] = []
  for (const [version, manifest] of staged) if (await isOfAnother(version, manifest, ids)) found.push(version)
  return found
}

/** Whether each manifest follows on a published one, and nobody else published one of its name. */
async function isClear(places: ReadonlyMap<VersionToPublish, Place>): Promise<boolean> {
  if (places.size === 0) return false
  const links = linksOf(places)
  const [isNext, ...taken] = await Promise.all([
    follow(links),
    ...links.map(({ content, to }) => isThere(content, to)),
  ])
  return isNext && !taken.includes(true)
}

function inOrder<T extends Place>(places: ReadonlyMap<VersionToPublish, T>) {
  return [...places].sort(([a], [b]) => a.version - b.version)
}

/** The names that manifests are to get, in the order of their versions. */
function linksOf(places: ReadonlyMap<VersionToPublish, Place>): ManifestLink[] {
  return inOrder(places).map(([version, { folder, finalPath }]) => ({
    content: folder.content,
    from: manifestPathOf(folder, version.branch, version.manifest_path),
    to: contentPathOf(folder, finalPath),
  }))
}

/** Whether each manifest follows on one that is published, or will be before it. */
async function follow(links: readonly ManifestLink[]): Promise<boolean> {
  const made = new Set(links.map(({ to }) => to))
  const isNext = async ({ content, to }: ManifestLink) => {
    const at = to.lastIndexOf('/') + 1
    const before = to.slice(0, at) + nameBefore(to.slice(at))
    return made.has(before) || (await isThere(content, before))
  }
  return (await Promise.all(links.map(isNext))).every(Boolean)
}

/** One version of each branch. */
function branchesOf(
  versions: readonly VersionToPublish[],
  tableOf: (version: VersionToPublish) => unknown,
): readonly VersionToPublish[] {
  const byBranch = new Map<string, VersionToPublish>()
  for (const version of versions) byBranch.set(JSON.stringify([tableOf(version), version.branch]), version)
  return [...byBranch.values()]
}

/** The staged manifest of a version, before it is known to be on disk. */
type Place = Omit<StagedManifest, 'size'>

/** The manifests that versions name, synced. */
async function findManifests(
  core: LanceContext,
  versions: readonly VersionToPublish[],
  find: FindTables,
): Promise<StagedManifests> {
  return syncManifests(await findPlaces(core, versions, find))
}

async function findPlaces(
  core: LanceContext,
  versions: readonly VersionToPublish[],
  find: FindTables,
): Promise<ReadonlyMap<VersionToPublish, Place>> {
  const places = new Map<VersionToPublish, Place>()
  for (const version of versions) {
    const { table, isThere } = await core.store.read((reader) => {
      const found = find(reader, version)
      return { table: found, isThere: found && tableById(reader, found.id) !== undefined }
    })
    const publication = table && publicationIfAny(core, table, version)
    if (table === undefined || publication === undefined) continue
    const { shared, prefix } = publication.folder
    const hasVersionsToAdopt = !isThere && (await hasManifests(shared, prefix))
    places.set(version, { ...publication, table, hasVersionsToAdopt })
  }
  return places
}

async function syncManifests(places: ReadonlyMap<VersionToPublish, Place>): Promise<StagedManifests> {
  const staged = new Map<VersionToPublish, StagedManifest>()
  for (const [version, place] of places) {
    const { folder } = place
    const size = await folder.shared.sync(manifestPathOf(folder, version.branch, version.manifest_path))
    staged.set(version, { ...place, size })
  }
  return staged
}

/**
 * Where a manifest is to be published. A refusal is thrown when the version is created: items before it may fail first.
 */
function publicationIfAny(core: LanceContext, table: TableAt, version: VersionToPublish) {
  try {
    return publicationOf(core, table, version)
  } catch (error) {
    if (error instanceof CatalogError) return undefined
    throw error
  }
}

/** Whether a record is that of the version in the request. */
function isRecordOf(record: VersionRecord | undefined, { manifest_path }: VersionToPublish): boolean {
  return record?.staging_path === manifest_path
}

function readRecord(
  core: LanceContext,
  { table }: StagedManifest,
  { branch, version }: VersionToPublish,
): Promise<VersionRecord | undefined> {
  return core.store.read((reader) => reader.get<VersionRecord>(keys.version(table.id, branch, version)))
}

/** Removes manifests that will never be published. An earlier try of the same request may have recorded one. */
async function removeRefused(core: LanceContext, staged: StagedManifests): Promise<void> {
  for (const [version, manifest] of staged) {
    if (isRecordOf(await readRecord(core, manifest, version), version)) continue
    await manifest.folder.content
      .remove(manifestPathOf(manifest.folder, version.branch, version.manifest_path))
      .catch(() => {})
  }
}

async function requirePublished(core: LanceContext, staged: StagedManifests): Promise<void> {
  for (const [version, manifest] of staged) {
    const { record, head } = await core.store.read((reader) => readAgain(reader, manifest, version))
    // A cleanup may have removed the version already, when later ones are there, or the whole branch is dropped.
    const wasPublished = head === undefined || (head.last ?? 0) > version.version
    if (record === undefined ? wasPublished : isRecordOf(record, version)) continue
    const of = `version ${version.version} of the table ${formatIdentifier(version.id)}${onBranch(version.branch)}`
    throw new CatalogError(
      'ConcurrentModification',
      record === undefined
        ? `The manifest of ${of} was removed before it could be published. Write it again.`
        : `Another program published ${of} at the same moment, without asking the catalog. Rebase on the latest version and create the one after it.`,
    )
  }
}

/** The record of a version and the head of its branch, as far as they exist. */
function readAgain(reader: Reader, { table }: StagedManifest, { branch, version }: VersionToPublish) {
  const record = reader.get<VersionRecord>(keys.version(table.id, branch, version))
  const head =
    branch === ''
      ? tableById(reader, table.id)?.record.main
      : reader.get<BranchRecord>(keys.branch(table.id, branch))?.head
  return { record, head }
}
