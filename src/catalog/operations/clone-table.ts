import * as v from 'valibot'
import { CatalogError, invalid } from '../../base/errors.ts'
import {
  branch,
  changeFields,
  flag,
  moment,
  requestFields,
  stringMap,
  tableIdentifier,
  text,
  version,
} from '../../base/model/fields.ts'
import { formatIdentifier, type Identifier } from '../../base/model/identifier.ts'
import { keys, type TableRecord, type VersionRecord } from '../../base/store/records.ts'
import type { Reader } from '../../base/store/store.ts'
import { claimLocation } from '../locations/claim.ts'
import type { LocationContext } from '../locations/context.ts'
import {
  type ContentFolder,
  checkLocation,
  contentFolderOf,
  locationOf,
  newLocation,
  normalLocation,
  tableAt,
} from '../locations/locations.ts'
import { removeUnused } from '../locations/removal.ts'
import { putShares } from '../locations/shared-content.ts'
import {
  findNamespace,
  identifierOf,
  lookUpTable,
  putTable,
  requireFreeName,
  tableById,
} from '../lookup/names.ts'
import { requireRule } from '../lookup/retention-rule.ts'
import { putVersion, wantedVersion } from '../lookup/versions.ts'
import { requireReadable } from '../rows/client-columns.ts'
import { clientRules } from '../rows/client-rules.ts'
import { cloneOfLance, cloneOfOurs, findCloneSource, schemaOfLance } from '../rows/clone.ts'
import { requireLanceReaches } from '../rows/lance-create.ts'
import { requireContentFolder, retryIfReplaced } from '../rows/rows.ts'
import { runLong } from '../transactions/long-transaction.ts'
import { pinTables } from '../transactions/pins.ts'
import { TargetReplaced } from '../transactions/retry.ts'
import { type OperationContext, type OperationOptions, operation } from './framework/operation.ts'
import { post } from './framework/route.ts'
import { subject } from './framework/subjects.ts'

const request = v.object({
  ...requestFields,
  id: tableIdentifier,
  source: v.nullish(tableIdentifier),
  source_location: v.nullish(text),
  source_version: v.nullish(version),
  source_tag: v.nullish(text),
  source_at: v.nullish(moment),
  source_branch: branch,
  is_shallow: v.nullish(flag),
  properties: v.nullish(stringMap),
})

const response = v.object({ ...changeFields, location: text, version, properties: stringMap })

type Request = v.InferOutput<typeof request>

/**
 * Creates a table with the rows and columns of another one, as version 1. `source` names that table, or
 * `source_location` says where it lies. It clones the version that is the latest when the call begins, or the one that
 * `source_version`, `source_tag` or `source_at` names. The clone shares the files of that version, so it takes no time and no room.
 * From then on, each of the two changes without the other, and may be dropped. With `is_shallow: false`, the clone gets
 * copies of the files. So does the clone of a table of Lance, whatever `is_shallow` says, and its only version keeps its
 * number.
 *
 * ```ts
 * await catalog.cloneTable({ id: ['dev', 'flights'], source: ['prod', 'flights'] })
 * ```
 */
export const cloneTable = operation({
  name: 'cloneTable',
  summary: 'Create a table with the rows of another one.',
  request,
  response,
  errors: [
    'NamespaceNotFound',
    'TableNotFound',
    'TableAlreadyExists',
    'TableVersionNotFound',
    'TableTagNotFound',
    'TableBranchNotFound',
    'InvalidTableState',
    'ConcurrentModification',
  ],
  changes: true,
  subjects: ({ source }) => subject('queryTable', source).map((read) => ({ ...read, changes: false })),
  location: ({ source_location }) => normalLocation(source_location),
  route: post('/v1/table/{id}/clone', { rows: true }),
  command: {
    group: 'Tables',
    aliases: ['clone'],
    examples: [
      './catalog dev.flights --source prod.flights',
      './catalog old --source flights --source-tag v1',
    ],
  },
  run: clone,
})

async function clone(
  core: OperationContext,
  asked: Request,
  options: OperationOptions,
): Promise<v.InferOutput<typeof response>> {
  const { id } = asked
  const freeParent = (reader: Reader) => {
    const parent = findNamespace(reader, id.slice(0, -1))
    requireFreeName(reader, parent, id, 'TableAlreadyExists')
    return parent
  }
  const sourceId = await sourceOf(core, asked, freeParent)
  const wanted = {
    branch: asked.source_branch,
    version: asked.source_version,
    tag: asked.source_tag,
    at: asked.source_at,
  }
  // One read decides on both names, so a refusal is what some order of concurrent changes explains.
  const source = await findCloneSource(core, sourceId, wanted, freeParent).catch((error) => {
    // A table that was found by its location has another name by now.
    const isGone = error instanceof CatalogError && /^(?:Table|Namespace)NotFound$/.test(error.code)
    throw asked.source == null && isGone ? new TargetReplaced(sourceId, { cause: error }) : error
  })
  const { snapshot: shared } = source
  if (shared) await requireReadable(options, shared.schema, { isOfLance: false })
  else if (options[clientRules])
    await requireReadable(options, await schemaOfLance(core, sourceId, source), { isOfLance: true })
  const target = newTable(core, id, asked.properties ?? source.table.record.properties)
  const isShallow = shared !== undefined && (asked.is_shallow ?? true)
  const from = requireContentFolder(core, sourceId, source.table)
  if (isShallow && from.content !== target.folder.content) {
    throw invalid(
      `The clone of ${formatIdentifier(sourceId)} would lie at ${target.location}, in another storage than the files that it would share. Ask with is_shallow false, which copies them.`,
    )
  }
  if (!shared) requireLanceReaches(core, id, { id: target.internalId, record: target.record })
  let isUnused = true
  // Others may have moved or deleted the tag meanwhile.
  const isStillTagged = (reader: Reader) => {
    // Tags of Lance are no records, and its files are copied.
    if (asked.source_tag == null || !shared) return true
    const { branch, version } = wantedVersion(reader, sourceId, source.table, wanted, core.now())
    return branch === source.found.branch && version === source.found.version
  }
  const work = () =>
    runLong(core, options, { operation: 'CloneTable', subject: id }, async (transaction, work) => {
      // Copying takes long. A transaction around this has pinned the table, or reads the latest version.
      if (!isShallow && !core.staging) {
        await transaction.record()
        await pinTables(core, transaction.id, [source.table.id])
      }
      const written = shared
        ? await cloneOfOurs(core, shared, { from, target, isShallow, transactionId: transaction.id, work })
        : await cloneOfLance(core, source, { from, target, work })
      transaction.releaseSlot()
      await written.sync?.()
      work.signal?.throwIfAborted()
      await transaction.commit(({ writer, now, transactionId, noted }) => {
        const { branch, version, record } = source.found
        // The files that the clone names stay only while a version names them.
        const there = writer.get<VersionRecord>(keys.version(source.table.id, branch, version))
        const table =
          asked.source == null ? tableById(writer, source.table.id) : lookUpTable(writer, sourceId)
        const isThere = table?.id === source.table.id && there?.manifest_path === record.manifest_path
        if (!isThere || !isStillTagged(writer)) throw new TargetReplaced(sourceId)
        const parent = freeParent(writer)
        const { internalId } = target
        if (target.record.location !== null) claimLocation(core, writer, target.record.location, internalId)
        const made = { id: internalId, record: { ...target.record, parent, created_at: now } }
        noted.noteSubject(internalId)
        putTable(writer, internalId, made.record)
        putVersion(
          writer,
          { table: made, branch: '', before: undefined },
          written.version,
          written.record(transactionId, now),
        )
        putShares(core, writer, target.folder, written.folders)
        return {}
      })
      isUnused = false
      const { location, record } = target
      return {
        location,
        version: written.version,
        properties: record.properties,
        transaction_id: transaction.id,
      }
    })
  try {
    return await retryIfReplaced(core, sourceId, source.table, work)
  } finally {
    if (isUnused) await removeUnused(core, target.internalId, target.folder)
  }
}

/** The identifier of the table to clone. Refuses at once what is known to fail. */
async function sourceOf(
  core: LocationContext,
  asked: Request,
  requireFree: (reader: Reader) => void,
): Promise<Identifier> {
  const { source, source_location, source_version, source_tag, source_at, source_branch } = asked
  if ((source == null) === (source_location == null)) {
    throw invalid(
      'cloneTable takes the table to clone either as source, its identifier, or as source_location. Give one of them.',
    )
  }
  if (source_tag != null && (source_version != null || source_branch !== '')) {
    throw invalid(
      'source_tag cannot be used together with source_version or source_branch, since it says both. Give one of them.',
    )
  }
  if (source_at != null && (source_tag ?? source_version) != null) {
    throw invalid(
      'source_at cannot be used together with source_version or source_tag, since each names a version. Give one of them.',
    )
  }
  if (source != null) return source
  return core.store.read((reader) => {
    requireFree(reader)
    const location = checkLocation(core.contentRoots, source_location!)
    const table = tableAt(core.contentRoots, reader, location)
    if (table === undefined) {
      throw new CatalogError(
        'TableNotFound',
        `No table of this catalog lies at ${location}. Ask describeTable where the table to clone lies, name it by its identifier, as source, or register it first.`,
      )
    }
    const found = identifierOf(reader, table.record)
    core.access?.require([{ operation: 'queryTable', id: found, changes: false }])
    return found
  })
}

/** The record and the folder of the new table. */
function newTable(core: OperationContext, id: Identifier, properties: Readonly<Record<string, string>>) {
  const internalId = core.newTableId()
  requireRule(properties)
  const record: Omit<TableRecord, 'parent' | 'created_at'> = {
    name: id.at(-1)!,
    location: newLocation(core.contentRoots, core.settings.tableRoot, internalId),
    properties,
    main: { latest: null, last: null },
    registered: false,
  }
  const location = locationOf(core.contentRoots, internalId, record)
  const folder: ContentFolder | undefined = contentFolderOf(core.contentRoots, location)
  if (folder === undefined) {
    throw new CatalogError(
      'InvalidTableState',
      `The table ${formatIdentifier(id)} would lie at ${location}, outside what this catalog reads and writes. Clone it with an engine that can write there, or choose another tableRoot.`,
    )
  }
  return { internalId, record, location, folder }
}
