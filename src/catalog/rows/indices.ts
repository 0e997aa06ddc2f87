import * as v from 'valibot'
import { invalid, unsupported } from '../../base/errors.ts'
import {
  branch,
  filledText,
  flag,
  name,
  requestFields,
  tableIdentifier,
  text,
} from '../../base/model/fields.ts'
import type { IndexType } from '../../base/model/index-types.ts'
import type { NewIndex, Snapshot, TableEngine, TableIndex } from '../../engine/table/index.ts'
import { applyToRows, changeRows } from './change.ts'
import type { RowsContext, RowsOptions } from './context.ts'
import { distanceType } from './query.ts'

const count = v.nullish(
  v.pipe(
    v.number('must be a whole number from 1'),
    v.safeInteger('must be a whole number from 1'),
    v.minValue(1, 'must be a whole number from 1'),
  ),
)

/** The parameters of a vector index, which are recorded as requested. */
const parameters = {
  distance_type: v.nullish(distanceType),
  num_partitions: count,
  num_sub_vectors: count,
  num_bits: count,
  sample_rate: count,
  max_iterations: count,
  target_partition_size: count,
  m: count,
  ef_construction: count,
}

type ParameterFields = { [Name in keyof typeof parameters]?: v.InferOutput<(typeof parameters)[Name]> }

/** The same, as a file of an export has it. */
export const indexParameters = v.pipe(v.object(parameters), v.transform(parametersOf))

export const indexRequest = v.object({
  ...requestFields,
  id: tableIdentifier,
  branch,
  column: filledText,
  index_type: text,
  name: v.nullish(name),
  replace: v.nullish(flag),
  ...parameters,
})

/** Fields of full-text indexes, which are refused as a whole. */
export const textIndexFields = [
  'ascii_folding',
  'base_tokenizer',
  'language',
  'lower_case',
  'max_token_length',
  'remove_stop_words',
  'stem',
  'with_position',
]

export const indexErrors = [
  'TableNotFound',
  'TableBranchNotFound',
  'TableColumnNotFound',
  'TableIndexAlreadyExists',
  'InvalidTableState',
  'ConcurrentModification',
  'Unsupported',
] as const

/** Types of Lance's full-text indexes. */
const textTypes = ['FTS', 'INVERTED']

/** Creates an index of one of the types, in a new version of the table. */
export async function createIndex(
  core: RowsContext,
  operation: string,
  request: v.InferOutput<typeof indexRequest>,
  types: readonly IndexType[],
  options: RowsOptions,
): Promise<{ transaction_id: string }> {
  const { id, branch, column, name, replace } = request
  const index: NewIndex = {
    column,
    type: typeAmong(request.index_type, types),
    name: name ?? undefined,
    replace: replace ?? undefined,
    parameters: parametersOf(request),
    uuid: core.newId(),
    createdAt: core.now(),
  }
  const { transaction_id } = await changeRows(core, options, {
    operation,
    id,
    branch,
    check: ({ engine, base }) => base && engine.createIndices([index]).check(base),
    prepare: async ({ engine, base }, work) => {
      const change = engine.createIndices([index])
      if (base) await change.prepare(base, work)
      return change
    },
    apply: applyToRows,
  })
  return { transaction_id }
}

/** How many rows indexes of a version cover, and what their files take. */
export async function coverageOf(
  engine: TableEngine,
  snapshot: Snapshot,
  indices: readonly TableIndex[],
): Promise<readonly IndexFields[]> {
  const all = await engine.coverageOf(snapshot, indices)
  return all.map(({ indexedRows, unindexedRows, bytes, files }) => ({
    rows: { num_indexed_rows: indexedRows, num_unindexed_rows: unindexedRows },
    files: { size_bytes: bytes, num_segments: files },
  }))
}

/** The fields of answers that tell what an index covers. */
export interface IndexFields {
  readonly rows: { readonly num_indexed_rows: number; readonly num_unindexed_rows: number }
  readonly files: { readonly size_bytes: number; readonly num_segments: number }
}

function typeAmong(given: string, types: readonly IndexType[]): IndexType {
  const upper = given.toUpperCase()
  const found = types.find((type) => type === upper || type.replaceAll('_', '') === upper)
  if (found) return found
  if (textTypes.includes(upper)) {
    throw unsupported(
      'Full-text indexes are not supported by this catalog.',
      'Filter with LIKE or regexp_match instead.',
    )
  }
  throw invalid(`index_type is ${JSON.stringify(given.slice(0, 64))}. Give one of ${types.join(', ')}.`)
}

function parametersOf(request: ParameterFields): NewIndex['parameters'] {
  const given = Object.keys(parameters).map(
    (name) => [name, request[name as keyof typeof parameters]] as const,
  )
  return Object.fromEntries(
    given.filter(([, value]) => value !== undefined && value !== null),
  ) as NewIndex['parameters']
}
