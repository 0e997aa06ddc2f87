import { CatalogError, invalid } from '../../base/errors.ts'
import { formatIdentifier, type Identifier, quote } from '../../base/model/identifier.ts'
import { keys, recordFormat, type VersionRecord } from '../../base/store/records.ts'
import { requireOwnFile } from '../locations/claim.ts'
import { isPointer } from '../locations/pointers.ts'
import { headOf, nextVersion, onBranch, putVersion } from '../lookup/versions.ts'
import { type ChangeContext, findTableToChange } from '../transactions/commit.ts'
import { TargetReplaced } from '../transactions/retry.ts'
import { newBranch } from './adopt.ts'
import type { LanceContext } from './context.ts'
import {
  publicationOf,
  type StagedManifest,
  type StagedManifests,
  toVersionFor,
  type VersionToPublish,
} from './dataset.ts'
import { requireBranch } from './publish.ts'

/** A version to record. */
export interface VersionEntry extends VersionToPublish {
  readonly manifest_size?: number | null | undefined
  readonly e_tag?: string | null | undefined
  readonly metadata?: Readonly<Record<string, string>> | null | undefined
  readonly naming_scheme?: string | null | undefined
}

/** A name that only one writer can have chosen: it holds a UUID, as the names of staged manifests do. */
const uniqueName = /[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}[^/]*$/i

/** Creates the version within a change; `created` is false when this is a retry. `key` is that of the request. */
export function createVersion(
  core: LanceContext,
  change: ChangeContext,
  entry: VersionEntry,
  key: string | undefined,
  staged: StagedManifests,
) {
  const { writer, transactionId, now } = change
  const table = findTableToChange(change, entry.id)
  const manifest = staged.get(entry)
  // The table was created or replaced after the lookup of the manifest.
  if (manifest ? manifest.table.id !== table.id : publicationOf(core, table, entry) !== undefined)
    throw new TargetReplaced(entry.id)
  if (manifest) {
    if (manifest.hasVersionsToAdopt) throw cannotAdopt(entry.id)
    if (core.staging) requireBranch(writer, manifest, entry)
    makeBranch(change, table.id, entry)
  }
  const head = headOf(writer, entry.id, table, entry.branch)
  const wanted = toRecord(entry, manifest, key, transactionId, now)
  const existing = writer.get<VersionRecord>(keys.version(table.id, entry.branch, entry.version))
  const isSame = existing !== undefined && sameRecord(existing, wanted)
  if (isSame && isRetry(existing, wanted)) {
    return { created: false, version: toVersionFor(core, entry.version, existing) }
  }
  const where = `the table ${formatIdentifier(entry.id)}${onBranch(entry.branch)}`
  if (existing !== undefined) {
    throw new CatalogError(
      'ConcurrentModification',
      isSame
        ? `Version ${entry.version} of ${where} already exists, and another writer may have created it: its manifest has a name that others can choose, too (${existing.manifest_path}). Read the version to see whose it is. Give each manifest a name with a UUID, or send retries with the same header idempotency-key.`
        : `Version ${entry.version} of ${where} already exists with another manifest (${existing.manifest_path}). Rebase on the latest version, ${head.latest}, and create the one after it.`,
      { next_version: nextVersion(head) },
    )
  }
  if (head.last !== null && entry.version !== head.last + 1) {
    throw new CatalogError(
      'ConcurrentModification',
      `Version ${entry.version} cannot be created: the next version of ${where} is ${head.last + 1}. Rebase on the latest version and create that one.`,
      { next_version: nextVersion(head) },
    )
  }
  if (isPointer(entry.manifest_path)) requireOwnFile(core, writer, table, entry.manifest_path)
  if (manifest && manifest.size === undefined) {
    throw invalid(
      `manifest_path ${quote(entry.manifest_path)} leads to no file, so version ${entry.version} of ${where} cannot be created. Write the manifest first.`,
    )
  }
  const before =
    head.latest === null
      ? undefined
      : writer.get<VersionRecord>(keys.version(table.id, entry.branch, head.latest))
  const made = putVersion(writer, { table, branch: entry.branch, before }, entry.version, wanted)
  return { created: true, version: toVersionFor(core, entry.version, made) }
}

/** Makes the branch of a version, if it is not there: Lance commits a branch's first version before the branch. */
function makeBranch({ writer, now }: ChangeContext, table: string, { branch, version }: VersionEntry): void {
  const key = keys.branch(table, branch)
  if (branch === '' || writer.get(key) !== undefined) return
  writer.put(key, newBranch({ latest: null, last: null }, version, now))
}

function cannotAdopt(id: Identifier): CatalogError {
  return new CatalogError(
    'InvalidTableState',
    `The location of the table ${formatIdentifier(id)} holds versions of Lance, which a table cannot take over in the batch that declares it. Declare the table first, and create the version then.`,
  )
}

function isRetry(existing: VersionRecord, wanted: VersionRecord): boolean {
  if (uniqueName.test(wanted.staging_path ?? wanted.manifest_path)) return true
  return wanted.request_key !== undefined && wanted.request_key === existing.request_key
}

function toRecord(
  entry: VersionEntry,
  manifest: StagedManifest | undefined,
  key: string | undefined,
  transactionId: string,
  now: number,
): VersionRecord {
  // What a client says of its file may be wrong.
  const manifest_size = manifest?.size ?? entry.manifest_size
  return {
    v: recordFormat,
    manifest_path: manifest?.finalPath ?? entry.manifest_path,
    ...(manifest && { staging_path: entry.manifest_path }),
    ...(manifest_size == null ? {} : { manifest_size }),
    ...(entry.e_tag == null ? {} : { e_tag: entry.e_tag }),
    ...(entry.metadata == null ? {} : { metadata: entry.metadata }),
    ...(entry.naming_scheme == null ? {} : { naming_scheme: entry.naming_scheme }),
    ...(key === undefined ? {} : { request_key: key }),
    timestamp_millis: now,
    transaction_id: transactionId,
  }
}

function sameRecord(a: VersionRecord, b: VersionRecord): boolean {
  // No writer gives two staged manifests the same name.
  if (b.staging_path !== undefined) return a.staging_path === b.staging_path
  return (
    a.manifest_path === b.manifest_path &&
    a.manifest_size === b.manifest_size &&
    a.e_tag === b.e_tag &&
    JSON.stringify(Object.entries(a.metadata ?? {}).sort()) ===
      JSON.stringify(Object.entries(b.metadata ?? {}).sort())
  )
}
