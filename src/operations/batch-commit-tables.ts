import * as v from 'valibot'
import type { Core } from '../catalog/core.ts'
import { vendedOptions } from '../locations/credentials.ts'
import { commitDeregistering, type Deregister } from '../locations/registration.ts'
import { rememberingNamespaces } from '../lookup/namespace-cache.ts'
import { changeFields, limits, requestFields } from '../model/fields.ts'
import type { Change } from '../transactions/commit.ts'
import {
  deleteVersions,
  deleteVersionsRequest,
  deleteVersionsResponse,
} from './batch-delete-table-versions.ts'
import {
  createTableVersionRequest,
  createTableVersionResponse,
  createVersion,
} from './create-table-version.ts'
import {
  type Declaration,
  type DeclaredTable,
  declare,
  declareTableRequest,
  declareTableResponse,
  prepareDeclaration,
} from './declare-table.ts'
import { deregister, deregisterTableRequest, deregisterTableResponse } from './deregister-table.ts'
import { doEach } from './framework/batch.ts'
import { operation } from './framework/operation.ts'

const members = [
  'declare_table',
  'create_table_version',
  'delete_table_versions',
  'deregister_table',
] as const

const tableOperation = v.pipe(
  v.looseObject(
    {
      declare_table: v.nullish(declareTableRequest),
      create_table_version: v.nullish(createTableVersionRequest),
      delete_table_versions: v.nullish(deleteVersionsRequest),
      deregister_table: v.nullish(deregisterTableRequest),
    },
    `must be an object with exactly one of ${members.join(', ')}`,
  ),
  v.check((given) => hasOneMember(given), `must have exactly one of ${members.join(', ')}`),
)

function hasOneMember(given: Readonly<Record<string, unknown>>): boolean {
  let found: string | undefined
  for (const name of Object.keys(given)) {
    if (given[name] == null) continue
    if (found !== undefined) return false
    found = name
  }
  return (members as readonly unknown[]).includes(found)
}

type TableOperation = v.InferOutput<typeof tableOperation>

const tableResult = v.object({
  declare_table: v.optional(declareTableResponse),
  create_table_version: v.optional(createTableVersionResponse),
  delete_table_versions: v.optional(deleteVersionsResponse),
  deregister_table: v.optional(deregisterTableResponse),
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
  run: async (core, { operations }) => {
    const declarations = doEach(
      'operations',
      operations,
      ({ declare_table }) => declare_table && prepareDeclaration(core, declare_table),
    )
    const response = await commitDeregistering(core, 'BatchCommitTables', [], (given, takeOut) => {
      // No operation of a batch changes a namespace.
      const change = { ...given, writer: rememberingNamespaces(given.writer) }
      return {
        results: doEach('operations', operations, (step, index) =>
          runStep(core, change, takeOut, step, declarations[index]),
        ),
      }
    })
    return { ...response, results: [...(await withCredentials(core, operations, response.results))] }
  },
})

function runStep(
  core: Core,
  change: Change,
  takeOut: Deregister,
  step: TableOperation,
  declaration: Declaration | null | undefined,
): TableResult {
  const { transactionId: transaction_id } = change
  if (declaration) {
    const declared: DeclaredTable = declare(core, change, declaration)
    declared.transaction_id = transaction_id
    return { declare_table: declared }
  }
  if (step.create_table_version) {
    const { version } = createVersion(change, step.create_table_version)
    return { create_table_version: { version, transaction_id } }
  }
  if (step.delete_table_versions) {
    const deleted_count = deleteVersions(change, step.delete_table_versions)
    return { delete_table_versions: { deleted_count, transaction_id } }
  }
  return {
    deregister_table: { ...deregister(core, change, takeOut, step.deregister_table!.id), transaction_id },
  }
}

async function withCredentials(
  core: Core,
  operations: readonly TableOperation[],
  results: readonly TableResult[],
): Promise<readonly TableResult[]> {
  if (!operations.some((asked) => asked.declare_table?.vend_credentials)) return results
  return Promise.all(
    results.map(async (result, index) => {
      const asked = operations[index]!.declare_table
      if (!asked?.vend_credentials || !result.declare_table) return result
      const vended = await vendedOptions(core, result.declare_table.location, asked)
      return { declare_table: { ...result.declare_table, ...vended } }
    }),
  )
}
