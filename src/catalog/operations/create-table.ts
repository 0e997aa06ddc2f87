import * as v from 'valibot'
import { CatalogError, invalid } from '../../base/errors.ts'
import {
  changeFields,
  choice,
  requestFields,
  stringMap,
  tableIdentifier,
  text,
  version,
} from '../../base/model/fields.ts'
import { formatIdentifier, type Identifier } from '../../base/model/identifier.ts'
import { isRowsSource } from '../../base/model/rows-source.ts'
import type { TableRecord } from '../../base/store/records.ts'
import type { WorkOptions } from '../../engine/table/index.ts'
import { claimLocation } from '../locations/claim.ts'
import { hasForeignRows } from '../locations/declared-only.ts'
import { dropTable as dropRecords } from '../locations/drop.ts'
import {
  type ContentFolder,
  contentFolderOf,
  locationOf,
  newLocation,
  type Roots,
} from '../locations/locations.ts'
import { removeContent, removeUnused } from '../locations/removal.ts'
import { type FoundTable, findNamespace, lookUpTable, putTable, requireFreeName } from '../lookup/names.ts'
import { requireRule } from '../lookup/retention-rule.ts'
import { putVersion } from '../lookup/versions.ts'
import { changeRows, createRows } from '../rows/change.ts'
import { requireReadable, requireSameColumns } from '../rows/client-columns.ts'
import type { RowsContext } from '../rows/context.ts'
import { isForLance } from '../rows/format.ts'
import { checkRows, schemaInput, streamedRowsInput } from '../rows/input.ts'
import {
  type CommitTable,
  createDataset,
  createDeclaredByLance,
  type NewDataset,
  requireLanceReaches,
} from '../rows/lance-create.ts'
import { readTable } from '../rows/read.ts'
import { retryIfReplaced, versionOf } from '../rows/rows.ts'
import { type LongTransaction, runLong } from '../transactions/long-transaction.ts'
import { TargetReplaced } from '../transactions/retry.ts'
import { type VacuumsBefore, vacuumsBegun } from '../transactions/work-record.ts'
import { type OperationContext, type OperationOptions, operation } from './framework/operation.ts'
import { post } from './framework/route.ts'

const request = v.object({
  ...requestFields,
  id: tableIdentifier,
  mode: v.nullish(choice('Create', 'ExistOk', 'Overwrite')),
  properties: v.nullish(stringMap),
  storage_options: v.nullish(stringMap),
  data: streamedRowsInput,
  schema: schemaInput,
})

const response = v.object({
  ...changeFields,
  location: text,
  version,
  properties: stringMap,
  storage_options: v.optional(stringMap),
})

/**
 * Creates a table with rows, as version 1. `data` is an Arrow IPC stream or file, an Arrow table, an array of row
 * objects, or an iterable of rows that are read while they are written. A `schema` says the columns of row objects;
 * without one they are inferred. `mode` says what happens when a table has that name already. `Create` (the default) fails, `ExistOk` leaves that table as it is, and
 * `Overwrite` drops it and creates it again. A declared table is created where it was declared. With the property
 * `format: 'lance'`, Lance writes the rows, by its package; with `'arrow'`, the catalog does. The option `format` of the
 * catalog says who does by default.
 *
 * ```ts
 * await catalog.createTable({ id: ['prod', 'flights'], data: [{ origin: 'SFO', delay: 12 }] })
 * ```
 */
export const createTable = operation({
  name: 'createTable',
  summary: 'Create a table with rows.',
  request,
  response,
  errors: [
    'NamespaceNotFound',
    'TableAlreadyExists',
    'InvalidTableState',
    'TableSchemaValidationError',
    'ConcurrentModification',
    'Unsupported',
  ],
  changes: true,
  route: post('/v1/table/{id}/create', {
    body: 'arrow',
    query: { mode: 'text', properties: 'map', storage_options: 'map' },
    rows: true,
    streams: true,
  }),
  command: {
    group: 'Tables',
    aliases: ['create'],
    begins: true,
    examples: [
      './catalog prod.flights --data flights.arrow',
      './catalog prod.flights --data flights.csv --mode Overwrite',
      `./catalog scores --data '[{"name":"Ada","score":9.5}]'`,
    ],
  },
  run: createAsAsked,
})

const operationName = 'CreateTable'

async function createAsAsked(
  core: OperationContext,
  asked: v.InferOutput<typeof request>,
  options: OperationOptions,
): Promise<v.InferOutput<typeof response>> {
  const { id, properties } = asked
  requireRule(properties)
  const mode = asked.mode ?? 'Create'
  const { existing, vacuums } = await core.store.read((reader) => {
    const existing = lookUpTable(reader, id)
    if (existing === undefined)
      requireFreeName(reader, findNamespace(reader, id.slice(0, -1)), id, 'TableAlreadyExists')
    const vacuums: VacuumsBefore = core.staging ? 'harmless' : vacuumsBegun(reader)
    return { existing, vacuums }
  })
  const isForeign = existing !== undefined && (await hasForeignRows(core, existing))
  if (existing && isDeclared(existing) && !isForeign) {
    if (properties) {
      throw invalid(
        `The table ${formatIdentifier(id)} is declared with properties of its own; leave properties out to create it.`,
      )
    }
    return createDeclared(core, asked, existing, options)
  }
  if (existing && mode === 'ExistOk') {
    await requireColumnsOf(core, asked, options)
    return describeExisting(core, existing)
  }
  if (existing && mode === 'Create') throw alreadyExists(id)
  const foreign = isForeign ? existing : undefined
  return create(core, asked, { foreign, vacuums }, options)
}

/** Gives a declared table its first version, where it was declared. */
async function createDeclared(
  core: OperationContext,
  { id, data, schema }: v.InferOutput<typeof request>,
  declared: FoundTable,
  options: OperationOptions,
) {
  const { record } = declared
  const awaitsSource = isRowsSource(data)
  const byLance = async () => {
    const pending = await checkRows(core, data, schema, options)
    return createDeclaredByLance(
      core,
      options,
      { operation: operationName, id, pending, awaitsSource },
      declared,
    )
  }
  const byOurs = () =>
    changeRows(core, options, {
      operation: operationName,
      id,
      branch: '',
      check: () => checkRows(core, data, schema, options),
      awaitsSource,
      prepare: async ({ engine, folder }, given, pending) => {
        const { rows, work } = await pending.build(given)
        return engine.overwriteRows(folder.prefix, rows, work)
      },
      apply: (_, written, current, work) => {
        // It was declared when the work began, and created by another writer since.
        if (current !== undefined) throw new TargetReplaced(id)
        return createRows(written, work)
      },
    })
  const create = isForLance(core, record.properties) ? byLance : byOurs
  const { version, transaction_id } = await retryIfReplaced(core, id, declared, create, isDeclared)
  const location = locationOf(core.contentRoots, declared.id, record)
  return { location, properties: record.properties, version, transaction_id }
}

/** What was known before a table is created. */
interface Before {
  /** A table that is declared by its record, with content of another engine: it is replaced like others. */
  readonly foreign: FoundTable | undefined
  /** How many vacuums had begun, if no record of a transaction protects the objects. */
  readonly vacuums: VacuumsBefore
}

async function create(
  core: OperationContext,
  asked: v.InferOutput<typeof request>,
  { foreign, vacuums }: Before,
  options: OperationOptions,
) {
  const { id, data, schema, mode } = asked
  const properties = asked.properties ?? {}
  const pending = await checkRows(core, data, schema, options)
  const internalId = core.newTableId()
  const record: Omit<TableRecord, 'parent' | 'created_at'> = {
    name: id.at(-1)!,
    location: newLocation(core.contentRoots, core.settings.tableRoot, internalId),
    properties,
    main: { latest: null, last: null },
    registered: false,
  }
  const location = locationOf(core.contentRoots, internalId, record as TableRecord)
  const folder = contentFolderOf(core.contentRoots, location)
  if (folder === undefined) throw outOfReach(id, location)
  const table = { id: internalId, record }
  const isLances = isForLance(core, properties)
  if (isLances) requireLanceReaches(core, id, table)
  let isUnused = true
  let replaced: string[] = []
  try {
    return await runLong(
      core,
      options,
      { operation: operationName, subject: id, vacuums },
      async (transaction, given) => {
        // A source may be slow, and must not keep others from their work.
        if (isRowsSource(data)) transaction.releaseSlot()
        const { rows, work } = await pending.build(given)
        await requireReadable(options, rows.schema, { isOfLance: isLances })
        let kept: FoundTable | undefined
        const commit: CommitTable = (putFirst) =>
          transaction.commit((change) => {
            const { writer, now, noted } = change
            replaced = []
            kept = undefined
            const existing = lookUpTable(writer, id)
            if (existing && existing.id !== foreign?.id && isDeclared(existing)) throw new TargetReplaced(id)
            if (existing && mode === 'ExistOk') {
              kept = existing
              // Nothing is recorded, as if the table had existed from the beginning. But an existing record has to end.
              return transaction.hasRecord ? {} : undefined
            }
            const parent = findNamespace(writer, id.slice(0, -1))
            if (existing && mode === 'Overwrite') replaced = dropRecords(core, change, existing, id)
            else requireFreeName(writer, parent, id, 'TableAlreadyExists')
            if (record.location !== null) claimLocation(core, writer, record.location, internalId)
            const made = { id: internalId, record: { ...record, parent, created_at: now } }
            noted.noteSubject(internalId)
            putTable(writer, internalId, made.record)
            return { first: putFirst(change, made) }
          })
        const first = { id, table, folder, rows, transactionId: transaction.id, commit }
        const written = isLances
          ? createDataset(core, first, work)
          : createOwn(core, first, transaction, work)
        await written.catch((error) => {
          if (kept === undefined) throw error
        })
        if (kept !== undefined) {
          await requireColumnsOf(core, { id, data, schema }, options)
          return describeExisting(core, kept)
        }
        isUnused = false
        return { location, version: 1, properties, transaction_id: transaction.id }
      },
    )
  } finally {
    if (isUnused) await removeUnused(core, internalId, folder)
    else await removeContent(core, replaced)
  }
}

/** Writes the rows of a new table, and commits them with it. */
async function createOwn(
  core: RowsContext,
  { folder, rows, commit }: Pick<NewDataset, 'rows' | 'commit'> & { readonly folder: ContentFolder },
  transaction: LongTransaction,
  work: WorkOptions,
): Promise<void> {
  const writing = (await core.engine(folder.content)).writtenBy(transaction.id)
  const snapshot = await writing.create(folder.prefix, rows, { ...work, version: 1 })
  transaction.releaseSlot()
  await writing.sync()
  work.signal?.throwIfAborted()
  await commit(({ writer, now, transactionId }, table) =>
    putVersion(writer, { table, branch: '', before: undefined }, 1, versionOf(snapshot, transactionId, now)),
  )
}

/** Refuses columns that differ from those of the existing table, if the requesting client expects that. */
function requireColumnsOf(
  core: OperationContext,
  { id, data, schema }: Pick<v.InferOutput<typeof request>, 'id' | 'data' | 'schema'>,
  options: OperationOptions,
): Promise<void> {
  const there = () => readTable(core, id, { branch: '' }, async (rows) => (await rows.describe()).schema)
  const given = async () => (await (await checkRows(core, data, schema, options)).build({})).rows
  return requireSameColumns(options, id, there, given)
}

function isDeclared({ record }: FoundTable): boolean {
  return record.main.latest === null && !record.registered
}

function describeExisting(core: Roots, { id, record }: FoundTable) {
  return {
    location: locationOf(core.contentRoots, id, record),
    properties: record.properties,
    version: record.main.latest ?? 0,
  }
}

function outOfReach(id: Identifier, location: string): CatalogError {
  return new CatalogError(
    'InvalidTableState',
    `The table ${formatIdentifier(id)} would lie at ${location}, outside what this catalog reads and writes. Declare it and write its rows there with an engine that can, or choose another tableRoot.`,
  )
}

function alreadyExists(id: Identifier): CatalogError {
  return new CatalogError(
    'TableAlreadyExists',
    `A table ${formatIdentifier(id)} already exists. Choose another name, insert into it, or create it with mode ExistOk, which keeps it, or Overwrite, which replaces it.`,
  )
}
