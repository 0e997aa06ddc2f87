import * as v from 'valibot'
import { CatalogError, invalid } from '../../base/errors.ts'
import {
  branch,
  changeFields,
  requestFields,
  stringMap,
  tableIdentifier,
  tableVersion,
  text,
  version,
} from '../../base/model/fields.ts'
import { formatIdentifier, type Identifier, quote } from '../../base/model/identifier.ts'
import { keys, recordFormat, type VersionRecord } from '../../base/store/records.ts'
import { newBranch } from '../lance/adopt.ts'
import type { LanceContext } from '../lance/context.ts'
import { publicationOf, toVersionFor } from '../lance/dataset.ts'
import { publishing, requireBranch, type StagedManifest, type StagedManifests } from '../lance/publish.ts'
import { requireOwnFile } from '../locations/claim.ts'
import { isPointer } from '../locations/pointers.ts'
import { headOf, nextVersion, onBranch, putVersion } from '../lookup/versions.ts'
import { inVersionRow } from '../rows/version-row.ts'
import { type ChangeContext, commit, findTableToChange, unchanged } from '../transactions/commit.ts'
import { TargetReplaced } from '../transactions/retry.ts'
import { operation } from './framework/operation.ts'
import { post } from './framework/route.ts'

/** A version to create, as single requests, batches and mixed batches give it. */
export const versionEntry = {
  id: tableIdentifier,
  version,
  branch,
  manifest_path: v.pipe(
    text,
    v.nonEmpty('is empty; give the path of the manifest'),
    v.maxLength(4_096, 'must be at most 4,096 characters long'),
  ),
  manifest_size: v.nullish(version),
  e_tag: v.nullish(v.pipe(text, v.maxLength(1_024, 'must be at most 1,024 characters long'))),
  metadata: v.nullish(stringMap),
  naming_scheme: v.nullish(v.pipe(text, v.maxLength(64, 'must be at most 64 characters long'))),
}

const versionEntrySchema = v.object(versionEntry)
export type VersionEntry = v.InferOutput<typeof versionEntrySchema>

const createTableVersionRequest = v.object({ ...requestFields, ...versionEntry })
const createTableVersionResponse = v.object({ ...changeFields, version: tableVersion })

/**
 * Records a version that a client wrote at the table's location. The first one may have any number. Each later one must
 * be exactly the latest plus one, so one of two concurrent writers fails with `ConcurrentModification`. The error's
 * `next_version` is the version to create instead. Where servers race for the versions of a table, a server waits for its
 * turn, and gives those whom it refuses a moment to return in it.
 *
 * A retry is safe where the catalog can distinguish it from another writer: the same record again succeeds and changes
 * nothing when `manifest_path` ends in a name with a UUID, as staged manifests of Lance do, or when both requests had
 * the same header `idempotency-key` or `x-request-id` (in process: the entry `header.idempotency-key` of `context`).
 * Otherwise the same record again is `ConcurrentModification`, since two writers may have chosen the same name.
 *
 * Where the catalog can reach the location, a manifest named `_versions/NAME.manifest-UUID`, as Lance's writers name
 * theirs, gets its final name before the answer. The answer has that name. The first version of a branch of Lance makes
 * the branch.
 */
export const createTableVersion = operation({
  name: 'createTableVersion',
  summary: 'Create a version entry for a table.',
  request: createTableVersionRequest,
  response: createTableVersionResponse,
  errors: ['TableNotFound', 'TableBranchNotFound', 'ConcurrentModification'],
  changes: true,
  route: post('/v1/table/{id}/version/create'),
  command: {
    group: 'Versions, tags and branches',
    aliases: ['create-version'],
    positional: ['version'],
    examples: ['./catalog prod.orders 8 --manifest-path _versions/8.manifest'],
  },
  run: (core, request, { signal }) =>
    publishing(core, [request], (staged) =>
      inVersionRow(core, request, signal, () =>
        commit(core, 'CreateTableVersion', request.id, (change) => {
          const key = requestKey(request.context)
          const { created, version } = createVersion(core, change, request, key, staged)
          return created ? { version } : unchanged({ version })
        }),
      ),
    ),
})

/** The headers that identify a retry. The first one that is present counts. */
const keyHeaders = ['header.idempotency-key', 'header.x-request-id']

/** Longer keys are not kept: a retry with one is a conflict. */
const maxKeyCharacters = 256

/** The key by which a client marks all attempts of a request. */
export function idempotencyKey(
  context: Readonly<Record<string, string>> | null | undefined,
): string | undefined {
  const key = context?.['header.idempotency-key']
  return key && key.length <= maxKeyCharacters ? key : undefined
}

/** The key that a retry of a request shares with the first attempt, and with no other request. */
export function requestKey(context: Readonly<Record<string, string>> | null | undefined): string | undefined {
  const key = keyHeaders.map((name) => context?.[name]).find((value) => value)
  return key !== undefined && key.length <= maxKeyCharacters ? key : undefined
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
  const manifest_size = entry.manifest_size ?? manifest?.size
  return {
    v: recordFormat,
    manifest_path: manifest?.finalPath ?? entry.manifest_path,
    ...(manifest && { staging_path: entry.manifest_path }),
    ...(manifest_size === undefined ? {} : { manifest_size }),
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
