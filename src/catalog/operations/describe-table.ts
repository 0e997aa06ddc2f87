import * as v from 'valibot'
import { CatalogError } from '../../base/errors.ts'
import {
  flag,
  requestFields,
  responseFields,
  stringMap,
  tableIdentifier,
  text,
  version,
  wantedFields,
} from '../../base/model/fields.ts'
import type { Reader } from '../../base/store/store.ts'
import type { JsonArrowSchema } from '../../engine/arrow/types.ts'
import { reconcileWanted } from '../lance/tags.ts'
import type { LocationContext } from '../locations/context.ts'
import { vendedCredentials } from '../locations/credentials.ts'
import { inspectionOf, isCreated } from '../locations/declared-only.ts'
import { contentFolderOf, isManaged, locationOf } from '../locations/locations.ts'
import { type FoundTable, findTable } from '../lookup/names.ts'
import { ruleOf } from '../lookup/retention-rule.ts'
import { type FoundVersion, findVersion, headOf, namesVersion, wantedVersion } from '../lookup/versions.ts'
import { describedColumns } from '../rows/client-columns.ts'
import { clientRules, readsLance } from '../rows/client-rules.ts'
import { isOfLance } from '../rows/lance-rows.ts'
import { rowsOf } from '../rows/read.ts'
import { retryIfReplaced, versionErrors } from '../rows/rows.ts'
import type { DescribedRows } from '../rows/version-rows.ts'
import {
  type OperationContext,
  type OperationOptions,
  operation,
  type RawRequest,
} from './framework/operation.ts'
import { post } from './framework/route.ts'

const request = v.object({
  ...requestFields,
  id: tableIdentifier,
  ...wantedFields,
  with_table_uri: v.nullish(flag),
  load_detailed_metadata: v.nullish(flag),
  check_declared: v.nullish(flag),
  vend_credentials: v.nullish(flag),
})

const jsonSchema = v.pipe(
  v.custom<JsonArrowSchema>(() => true),
  v.metadata({ type: 'object' }),
)

const response = v.object({
  ...responseFields,
  table: v.optional(text),
  namespace: v.optional(v.array(text)),
  version: v.optional(version),
  location: text,
  table_uri: v.optional(text),
  schema: v.optional(jsonSchema),
  storage_options: v.optional(stringMap),
  stats: v.optional(v.object({ num_deleted_rows: version, num_fragments: version })),
  metadata: v.optional(stringMap),
  properties: stringMap,
  managed_versioning: v.optional(flag),
  retention: v.optional(v.object({ versions: v.optional(version), age: v.optional(version) })),
  is_only_declared: v.nullish(flag),
})

/**
 * Describes a table: its location and properties. Its version and schema come with `load_detailed_metadata` only, as
 * the schema takes opening the version, and the protocol has it so. So do statistics and schema metadata. The schema is
 * in JSON form. All of these are of the latest version, or of the one that `version`, `tag`, `at` or `branch` picks. A
 * table that is declared only has no version and no schema. Nor has one of another engine; that of a table of Lance is
 * known where its package is installed.
 *
 * ```ts
 * const { schema, version } = await catalog.describeTable({ id: ['prod', 'flights'], load_detailed_metadata: true })
 * ```
 */
export const describeTable = operation({
  name: 'describeTable',
  summary: 'Describe a table.',
  request,
  response,
  errors: versionErrors,
  changes: false,
  isFromStore: (asked) => !asked.check_declared && !asked.vend_credentials && !dependsOnVersions(asked),
  route: post('/v1/table/{id}/describe', {
    query: { with_table_uri: 'boolean', load_detailed_metadata: 'boolean', check_declared: 'boolean' },
  }),
  command: {
    group: 'Tables',
    examples: ['./catalog prod.flights', './catalog prod.flights --load-detailed-metadata'],
  },
  run: (core, asked, options) =>
    // The most frequent operation: if the records suffice, the read itself answers, with no further wait.
    asked.check_declared || asked.vend_credentials || dependsOnVersions(asked)
      ? describeFurther(core, asked, options)
      : core.store.read((reader) => describe(core, asked, findTable(reader, asked.id))),
})

/** Whether an answer follows from the table's versions, which other programs may write at its location. */
function dependsOnVersions(asked: RawRequest): boolean {
  return Boolean(asked.load_detailed_metadata || asked.branch) || namesVersion(asked)
}

type Description = v.InferInput<typeof response>

/** The description from a table's record. Built member by member, since spreading costs as much as the rest. */
function describe(
  core: LocationContext,
  asked: v.InferOutput<typeof request>,
  { id, record }: FoundTable,
): Description {
  const location = locationOf(core.contentRoots, id, record)
  const described: Description = { location, properties: record.properties }
  if (isManaged(core, record)) described.managed_versioning = true
  const rule = ruleOf(core.settings.retention, record.properties)
  if (rule !== undefined)
    described.retention = {
      ...(rule.versions !== undefined && { versions: rule.versions }),
      ...(rule.age !== undefined && { age: rule.age }),
    }
  if (asked.with_table_uri) described.table_uri = location
  return described
}

/** Describes a table when the answer also needs its content, or credentials for its location. */
async function describeFurther(
  core: OperationContext,
  given: v.InferOutput<typeof request>,
  options: OperationOptions,
): Promise<Description> {
  const asked = dependsOnVersions(given) ? (await reconcileWanted(core, given.id, given)).resolved : given
  const { table, found } = await core.store.read((reader) => select(core, reader, asked))
  const described = describe(core, asked, table)
  const { location } = described
  if (asked.check_declared || asked.load_detailed_metadata) {
    described.is_only_declared = await isOnlyDeclared(core, table)
  }
  if (asked.load_detailed_metadata) {
    Object.assign(
      described,
      await retryIfReplaced(core, asked.id, table, () => details(core, asked.id, table, found, options)),
    )
  }
  if (asked.vend_credentials) Object.assign(described, await vendedCredentials(core, location, asked))
  return described
}

async function isOnlyDeclared(core: LocationContext, table: FoundTable): Promise<boolean> {
  if (isCreated(table.record)) return false
  const inspect = inspectionOf(core, table)
  return inspect === undefined || !(await inspect())
}

function select(
  core: OperationContext,
  reader: Reader,
  asked: v.InferOutput<typeof request>,
): { table: FoundTable; found: FoundVersion | undefined } {
  const { id, load_detailed_metadata } = asked
  const table = findTable(reader, id)
  const { branch, version } = wantedVersion(reader, id, table, asked, core.now())
  if (version != null) return { table, found: findVersion(reader, id, table, branch, version) }
  const { latest } = headOf(reader, id, table, branch)
  const wanted = load_detailed_metadata && latest !== null
  return { table, found: wanted ? findVersion(reader, id, table, branch) : undefined }
}

async function details(
  core: OperationContext,
  id: readonly string[],
  table: FoundTable,
  found: FoundVersion | undefined,
  options: OperationOptions,
) {
  const names = { table: id.at(-1)!, namespace: id.slice(0, -1) }
  const folder = contentFolderOf(core.contentRoots, locationOf(core.contentRoots, table.id, table.record))
  if (found === undefined) return names
  const { version, record } = found
  // Only the engine that wrote a version knows its columns.
  const isKnown = record.rows !== undefined || (isOfLance(record) && !options[readsLance])
  if (!isKnown || folder === undefined) return { ...names, version }
  const rows = rowsOf(core, id, table, found)
  const described = await rows.describe().catch((error) => {
    // Where Lance is not installed, or cannot read the version, the table is described as far as the catalog knows it.
    if (record.rows === undefined && error instanceof CatalogError) return undefined
    throw error
  })
  return {
    ...names,
    version,
    ...(described && (await describeRows(id, described, isOfLance(record), options))),
  }
}

async function describeRows(
  id: readonly string[],
  rows: DescribedRows,
  isLances: boolean,
  options: OperationOptions,
) {
  const { toJsonSchema } = await import('../../engine/table/index.ts')
  const json = toJsonSchema(rows.schema)
  const rules = options[clientRules]
  return {
    schema: rules ? describedColumns(rules, id, json, isLances) : json,
    metadata: Object.fromEntries(rows.metadata),
    ...(rows.deletedRows !== undefined && {
      stats: { num_deleted_rows: rows.deletedRows, num_fragments: rows.fragments },
    }),
  }
}
