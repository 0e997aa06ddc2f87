import * as v from 'valibot'
import { changeFields, limits, requestFields } from '../../base/model/fields.ts'
import { mapInSlices } from '../../base/scheduling/time-slice.ts'
import type { LanceContext } from '../lance/context.ts'
import type { StagedManifests, TableAt } from '../lance/dataset.ts'
import { prepareDeletion, removeManifests, type VersionDeletion } from '../lance/delete-versions.ts'
import { mayBePublished, publishing } from '../lance/publish.ts'
import { createVersion } from '../lance/record-version.ts'
import { decideAboutLocations } from '../locations/claim.ts'
import type { LocationContext } from '../locations/context.ts'
import { commitDeregistering, type Deregister } from '../locations/registration.ts'
import { lookUpTable } from '../lookup/names.ts'
import { withNamespaceCache } from '../lookup/namespace-cache.ts'
import type { ChangeContext } from '../transactions/commit.ts'
import { batchDeleteTableVersions, deleteVersions } from './batch-delete-table-versions.ts'
import { createTableVersion, requestKey } from './create-table-version.ts'
import {
  credentialsFor,
  type Declaration,
  type DeclaredTable,
  declare,
  declareTable,
  prepareDeclaration,
} from './declare-table.ts'
import { deregister, deregisterTable } from './deregister-table.ts'
import { doEach, prepared, preparedLater } from './framework/batch.ts'
import { operation } from './framework/operation.ts'
import { listedStatuses, post } from './framework/route.ts'
import { objectsIn, subjectOf } from './framework/subjects.ts'

/** The members that an operation of a batch may have. Each is an operation of its own, too. */
const members = {
  declare_table: declareTable,
  create_table_version: createTableVersion,
  delete_table_versions: batchDeleteTableVersions,
  deregister_table: deregisterTable,
}

const memberNames = Object.keys(members) as (keyof typeof members)[]

const tableOperation = v.pipe(
  v.looseObject(
    {
      declare_table: v.nullish(members.declare_table.definition.request),
      create_table_version: v.nullish(members.create_table_version.definition.request),
      delete_table_versions: v.nullish(members.delete_table_versions.definition.request),
      deregister_table: v.nullish(members.deregister_table.definition.request),
    },
    `must be an object with exactly one of ${memberNames.join(', ')}`,
  ),
  v.check((given) => hasOneMember(given), `must have exactly one of ${memberNames.join(', ')}`),
  v.metadata({ exactlyOne: true }),
)

function hasOneMember(given: Readonly<Record<string, unknown>>): boolean {
  let found: string | undefined
  for (const name of Object.keys(given)) {
    if (given[name] == null) continue
    if (found !== undefined) return false
    found = name
  }
  return found !== undefined && Object.hasOwn(members, found)
}

type TableOperation = v.InferOutput<typeof tableOperation>

const tableResult = v.object({
  declare_table: v.optional(members.declare_table.definition.response),
  create_table_version: v.optional(members.create_table_version.definition.response),
  delete_table_versions: v.optional(members.delete_table_versions.definition.response),
  deregister_table: v.optional(members.deregister_table.definition.response),
})

type TableResult = v.InferOutput<typeof tableResult>

/**
 * Commits a batch of mixed operations on any number of tables in one atomic step: all of them, or none. They
 * run in order and each sees what those before it did; the first that fails undoes everything, and the error
 * says which it was. Results come in the same order, each under the member its operation had.
 *
 * ```ts
 * await catalog.batchCommitTables({
 *   operations: [
 *     { create_table_version: { id: ['prod', 'orders'], version: 8, manifest_path: '_versions/8.manifest' } },
 *     { create_table_version: { id: ['prod', 'lines'], version: 5, manifest_path: '_versions/5.manifest' } },
 *     { declare_table: { id: ['prod', 'returns'] } },
 *   ],
 * })
 * ```
 */
export const batchCommitTables = operation({
  name: 'batchCommitTables',
  summary: 'Commit a batch of mixed table operations atomically.',
  request: v.object({
    ...requestFields,
    operations: v.pipe(
      v.array(v.unknown(), 'must be a list of operations'),
      v.nonEmpty('is empty; give at least one operation'),
      v.maxLength(limits.batch, () => `must hold at most ${limits.batch.toLocaleString('en')} operations`),
      v.array(tableOperation),
    ),
  }),
  response: v.object({ ...changeFields, results: v.array(tableResult) }),
  errors: [
    'NamespaceNotFound',
    'TableNotFound',
    'TableAlreadyExists',
    'TableBranchNotFound',
    'InvalidTableState',
    'ConcurrentModification',
  ],
  changes: true,
  subjects: (request) =>
    objectsIn(request.operations).flatMap((step) =>
      memberNames.flatMap((member) =>
        objectsIn([step[member]]).flatMap((item) => subjectOf(members[member].definition, item)),
      ),
    ),
  route: post('/v1/table/batch-commit', { statuses: [...listedStatuses, 409] }),
  command: {
    group: 'Transactions and batches',
    aliases: ['commit'],
    positional: ['operations'],
    begins: true,
    examples: [
      './catalog @operations.json',
      `./catalog '[{"declare_table":{"id":["prod","returns"]}},{"deregister_table":{"id":["prod","old"]}}]'`,
    ],
  },
  run: async (core, { operations, context }) => {
    const key = requestKey(context)
    const declarations = await mapInSlices(
      operations,
      ({ declare_table }) => declare_table && prepared(() => prepareDeclaration(core, declare_table)),
    )
    // All at once, since the claims would ask one by one.
    if (core.access) await decideAboutLocations(core, 'declareTable', declarations.flatMap(namedLocationOf))
    const versions = operations.flatMap((step) => step.create_table_version ?? [])
    const made = tablesMade(operations, declarations)
    const deletions = await prepareDeletions(core, operations, made)
    // Before the commit: a failing hook must not make an applied batch fail.
    const vended = await vendedFor(core, operations, declarations)
    const commit = (staged: StagedManifests) =>
      commitDeregistering(core, 'BatchCommitTables', [], (given, detach) => {
        // No operation of a batch changes a namespace.
        const change = { ...given, writer: withNamespaceCache(given.writer) }
        const prepared: Prepared = { key, staged, deletions, detach }
        return {
          results: doEach('operations', operations, (step, index) => {
            // A hook that failed is a failure of its step.
            vended?.[index]?.()
            return runStep(core, change, step, declarations[index]?.(), prepared)
          }),
        }
      })
    const response = await publishing(core, versions, commit, {
      find: (reader, version) => (made.has(version) ? made.get(version) : lookUpTable(reader, version.id)),
    })
    for (const [, { prepare, paths }] of deletions) {
      const dataset = prepare()
      if (dataset) await removeManifests(core, dataset, paths)
    }
    vended?.forEach((credentials, index) => {
      const { declare_table } = response.results[index]!
      if (declare_table) response.results[index] = { declare_table: { ...declare_table, ...credentials() } }
    })
    return response
  },
})

/** Further input of the steps. */
interface Prepared {
  /** The key of the request. */
  readonly key: string | undefined
  readonly staged: StagedManifests
  readonly deletions: Deletions
  readonly detach: Deregister
}

/** What is known of each deletion of versions before the batch, and the paths of the manifests that it removes. */
type Deletions = Map<
  TableOperation,
  { readonly prepare: () => VersionDeletion | undefined; paths: readonly string[] }
>

async function prepareDeletions(
  core: LanceContext,
  operations: readonly TableOperation[],
  made: TablesMade,
): Promise<Deletions> {
  const deletions: Deletions = new Map()
  for (const step of operations) {
    const request = step.delete_table_versions
    if (!request) continue
    // Tables that the batch makes have nothing published before it.
    const prepare = made.has(request)
      ? () => undefined
      : await preparedLater(() => prepareDeletion(core, request))
    deletions.set(step, { prepare, paths: [] })
  }
  return deletions
}

/**
 * The tables of versions to create or delete whose names earlier steps declared or deregistered; undefined if these
 * leave no table. Other versions are of tables that existed before.
 */
type TablesMade = ReadonlyMap<object, TableAt | undefined>

function tablesMade(
  operations: readonly TableOperation[],
  declarations: readonly ((() => Declaration) | null | undefined)[],
): TablesMade {
  const made = new Map<object, TableAt | undefined>()
  // Most batches have no manifests of Lance to publish or to remove.
  if (!operations.some(hasManifests)) return made
  const now = new Map<string, TableAt | undefined>()
  for (const [index, step] of operations.entries()) {
    const about = step.create_table_version ?? step.delete_table_versions
    if (about) {
      const name = now.size > 0 ? JSON.stringify(about.id) : ''
      if (now.has(name)) made.set(about, now.get(name))
      continue
    }
    const { id } = (step.declare_table ?? step.deregister_table)!
    now.set(JSON.stringify(id), declaredBy(declarations[index]))
  }
  return made
}

/** The location that a request names for a table to declare. */
function namedLocationOf(declaration: (() => Declaration) | null | undefined): string[] {
  try {
    const made = declaration?.()
    return made?.isNamed && made.location !== null ? [made.location] : []
  } catch {
    return []
  }
}

function hasManifests({ create_table_version, delete_table_versions }: TableOperation): boolean {
  return (
    delete_table_versions != null || (create_table_version != null && mayBePublished(create_table_version))
  )
}

/** The table that a declaration makes, unless it is refused. */
function declaredBy(declaration: (() => Declaration) | null | undefined): TableAt | undefined {
  try {
    const made = declaration?.()
    return made && { id: made.internalId, record: made }
  } catch {
    return undefined
  }
}

function runStep(
  core: LanceContext,
  change: ChangeContext,
  step: TableOperation,
  declaration: Declaration | null | undefined,
  { key, staged, deletions, detach }: Prepared,
): TableResult {
  const { transactionId: transaction_id } = change
  if (declaration) {
    const declared: DeclaredTable = declare(core, change, declaration)
    declared.transaction_id = transaction_id
    return { declare_table: declared }
  }
  if (step.create_table_version) {
    const { context } = step.create_table_version
    const { version } = createVersion(
      core,
      change,
      step.create_table_version,
      requestKey(context) ?? key,
      staged,
    )
    return { create_table_version: { version, transaction_id } }
  }
  if (step.delete_table_versions) {
    const deletion = deletions.get(step)!
    deletion.paths = deleteVersions(change, step.delete_table_versions, deletion.prepare())
    return { delete_table_versions: { deleted_count: deletion.paths.length, transaction_id } }
  }
  return {
    deregister_table: { ...deregister(core, change, detach, step.deregister_table!.id), transaction_id },
  }
}

/** The credentials that the declarations of a batch ask for, by their index; undefined when none does. */
async function vendedFor(
  core: LocationContext,
  operations: readonly TableOperation[],
  declarations: readonly ((() => Declaration) | null | undefined)[],
) {
  if (!operations.some(({ declare_table }) => declare_table?.vend_credentials)) return undefined
  return Promise.all(
    operations.map(({ declare_table }, index) =>
      preparedLater(async () => declare_table && credentialsFor(core, declarations[index]!(), declare_table)),
    ),
  )
}
