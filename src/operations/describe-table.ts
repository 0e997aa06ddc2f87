import * as v from 'valibot'
import type { Core } from '../catalog/core.ts'
import { vendedCredentials } from '../locations/credentials.ts'
import { folderToInspect, hasForeignObjects, isCreated } from '../locations/declared-only.ts'
import { foreignVersion } from '../locations/foreign-version.ts'
import { contentFolderOf, locationOf } from '../locations/locations.ts'
import { type FoundTable, findTable } from '../lookup/names.ts'
import { type FoundVersion, findVersion, headOf, wantedVersion } from '../lookup/versions.ts'
import {
  flag,
  branch as mainOrBranch,
  requestFields,
  responseFields,
  stringMap,
  tableIdentifier,
  text,
  version,
} from '../model/fields.ts'
import { openManifest, whileThere } from '../rows/rows.ts'
import type { Reader } from '../store/store.ts'
import type { Snapshot } from '../table/index.ts'
import { operation } from './framework/operation.ts'
import { post } from './framework/route.ts'

const request = v.object({
  ...requestFields,
  id: tableIdentifier,
  version: v.nullish(version),
  tag: v.nullish(text),
  branch: mainOrBranch,
  with_table_uri: v.nullish(flag),
  load_detailed_metadata: v.nullish(flag),
  check_declared: v.nullish(flag),
  vend_credentials: v.nullish(flag),
})

/** A field of a table's schema in JSON form, its type by the name Lance gives it. */
export interface JsonField {
  readonly name: string
  readonly nullable: boolean
  readonly type: { readonly type: string; readonly length?: number; readonly fields?: readonly JsonField[] }
  readonly metadata?: Readonly<Record<string, string>>
}

const jsonSchema = v.custom<{ fields: readonly JsonField[]; metadata?: Readonly<Record<string, string>> }>(
  () => true,
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
  is_only_declared: v.nullish(flag),
})

/**
 * Describes a table: its location and its properties. With `load_detailed_metadata` also its version, schema
 * (in JSON form), statistics and schema metadata. Those are of the latest version, or of the one that `version`, `tag`
 * or `branch` picks. A table that is declared only has no version and no schema. Of a table that another engine
 * wrote, the catalog knows the version: the latest record, or where there are no records, the latest of Lance's files.
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
  errors: [
    'TableNotFound',
    'TableVersionNotFound',
    'TableTagNotFound',
    'TableBranchNotFound',
    'InvalidTableState',
  ],
  changes: false,
  isFromStore: ({ check_declared, load_detailed_metadata, vend_credentials }) =>
    !check_declared && !load_detailed_metadata && !vend_credentials,
  route: post('/v1/table/{id}/describe', {
    query: { with_table_uri: 'boolean', load_detailed_metadata: 'boolean', check_declared: 'boolean' },
  }),
  command: {
    group: 'Tables',
    aliases: ['describe'],
    options: {
      check_declared: 'tell whether the table is only declared',
      load_detailed_metadata: 'tell version, schema, statistics and metadata too',
      with_table_uri: 'tell the URI of the table',
    },
    examples: ['./catalog prod.flights', './catalog prod.flights --load-detailed-metadata'],
  },
  run: (core, asked) =>
    // The operation that is asked most: what the records tell is answered within the read, with no further wait.
    asked.check_declared || asked.load_detailed_metadata || asked.vend_credentials
      ? describeFurther(core, asked)
      : core.store.read((reader) => describe(core, asked, select(reader, asked).table)),
})

type Description = v.InferInput<typeof response>

/** What a table's record tells. Built member by member, since spreading costs as much as the rest. */
function describe(core: Core, asked: v.InferOutput<typeof request>, { id, record }: FoundTable): Description {
  const location = locationOf(core.contentRoots, id, record)
  const described: Description = { location, properties: record.properties }
  if (core.settings.managedVersioning) described.managed_versioning = true
  if (asked.with_table_uri) described.table_uri = location
  return described
}

/** Describes a table where the answer also takes its content, or credentials for its location. */
async function describeFurther(core: Core, asked: v.InferOutput<typeof request>): Promise<Description> {
  const { table, found } = await core.store.read((reader) => select(reader, asked))
  const described = describe(core, asked, table)
  const { location } = described
  if (asked.check_declared || asked.load_detailed_metadata) {
    described.is_only_declared = await isOnlyDeclared(core, table)
  }
  if (asked.load_detailed_metadata) {
    Object.assign(
      described,
      await whileThere(core, asked.id, table, () => details(core, asked.id, location, table, found)),
    )
  }
  if (asked.vend_credentials) Object.assign(described, await vendedCredentials(core, location, asked))
  return described
}

async function isOnlyDeclared(core: Core, table: FoundTable): Promise<boolean> {
  if (isCreated(table.record)) return false
  const place = folderToInspect(core, table)
  return place === undefined || !(await hasForeignObjects(place))
}

function select(
  reader: Reader,
  asked: v.InferOutput<typeof request>,
): { table: FoundTable; found: FoundVersion | undefined } {
  const { id, load_detailed_metadata } = asked
  const table = findTable(reader, id)
  const { branch, version } = asked.tag == null ? asked : wantedVersion(reader, id, table, asked)
  if (version != null) return { table, found: findVersion(reader, id, table, branch, version) }
  const { latest } = headOf(reader, id, table, branch)
  const wanted = load_detailed_metadata && latest !== null
  return { table, found: wanted ? findVersion(reader, id, table, branch) : undefined }
}

async function details(
  core: Core,
  id: readonly string[],
  location: string,
  { record }: FoundTable,
  found: FoundVersion | undefined,
) {
  const names = { table: id.at(-1)!, namespace: id.slice(0, -1) }
  const place = contentFolderOf(core.contentRoots, location)
  if (found === undefined) {
    // Where clients do not keep versions through the catalog, another engine may keep its own.
    const isForeign = !core.settings.managedVersioning && record.main.last === null
    const version = place && isForeign ? await foreignVersion(place) : undefined
    return version === undefined ? names : { ...names, version }
  }
  // Only the engine that wrote a version knows its columns.
  if (found.record.rows === undefined || place === undefined) return { ...names, version: found.version }
  const snapshot = await openManifest(await core.engine(place.content), place, found.record)
  return { ...names, version: found.version, ...(await describeSnapshot(snapshot)) }
}

async function describeSnapshot(snapshot: Snapshot) {
  const { toJsonSchema } = await import('../table/index.ts')
  return {
    schema: toJsonSchema(snapshot.schema),
    metadata: Object.fromEntries(snapshot.metadata),
    stats: { num_deleted_rows: snapshot.deletedRows, num_fragments: snapshot.fragments },
  }
}
