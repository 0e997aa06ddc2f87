import type { Schema } from '@uwdata/flechette'
import * as v from 'valibot'
import { CatalogError, invalid, unsupported } from '../../base/errors.ts'
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
import type { NewIndex } from '../../engine/table/index.ts'
import { applyToRows, changeTable } from './change.ts'
import type { AnyRowsContext, RowsOptions } from './context.ts'
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

/** The parameters of an index of words, which only Lance makes. */
const textParameters = {
  with_position: v.nullish(flag),
  base_tokenizer: v.nullish(filledText),
  language: v.nullish(filledText),
  max_token_length: count,
  lower_case: v.nullish(flag),
  stem: v.nullish(flag),
  remove_stop_words: v.nullish(flag),
  custom_stop_words: v.nullish(v.array(text, 'must be a list of words')),
  ascii_folding: v.nullish(flag),
  min_ngram_length: count,
  max_ngram_length: count,
  prefix_only: v.nullish(flag),
  block_size: count,
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
  ...textParameters,
})

/** Further fields of LanceDB's clients, with what its indexes do anyway. */
export const textIndexIgnores = [
  'index_operators',
  'lance_tokenizer',
  'preserve_original',
  'split_identifiers',
  'split_on_numerics',
] as const

export const indexErrors = [
  'TableNotFound',
  'TableBranchNotFound',
  'TableColumnNotFound',
  'TableIndexAlreadyExists',
  'InvalidTableState',
  'ConcurrentModification',
  'Unsupported',
] as const

/** The type of Lance's indexes of words, and its other name. */
const textType = 'FTS'
const textTypes = [textType, 'INVERTED']

/** Creates an index of one of the types, in a new version of the table. */
export async function createIndex(
  core: AnyRowsContext,
  operation: string,
  request: v.InferOutput<typeof indexRequest>,
  types: readonly IndexType[],
  options: RowsOptions,
): Promise<{ transaction_id: string }> {
  const { id, branch, column, name, replace } = request
  const type = typeAmong(request.index_type, types)
  const made = (): NewIndex => {
    if (type === textType) throw onlyByLance()
    return {
      column,
      type,
      name: name ?? undefined,
      replace: replace ?? undefined,
      parameters: parametersOf(request),
      uuid: core.newId(),
      createdAt: core.now(),
    }
  }
  const { transaction_id } = await changeTable(core, options, {
    operation,
    id,
    branch,
    check: ({ engine, base }) => {
      const index = made()
      base && engine.createIndices([index]).check(base)
      return index
    },
    prepare: async ({ engine, base }, work, index) => {
      const change = engine.createIndices([index])
      if (base) await change.prepare(base, work)
      return change
    },
    apply: applyToRows,
    lances: (schema) => {
      requireColumn(schema, column)
      const parameters = { ...parametersOf(request), ...given(request, textParameters) }
      return {
        kind: 'create index',
        index: { column, type, name: name ?? undefined, replace: replace ?? true, parameters },
      }
    },
  })
  return { transaction_id }
}

function typeAmong(given: string, types: readonly IndexType[]): IndexType | typeof textType {
  const upper = given.toUpperCase()
  const found = types.find((type) => type === upper || type.replaceAll('_', '') === upper)
  if (found) return found
  if (textTypes.includes(upper)) return textType
  throw invalid(`index_type is ${JSON.stringify(given.slice(0, 64))}. Give one of ${types.join(', ')}.`)
}

function onlyByLance(): CatalogError {
  return unsupported(
    "Full-text indexes are those of tables of Lance, and the rows of this one are the catalog's own.",
    "Create the table with the property format: 'lance', or filter with LIKE or regexp_match.",
  )
}

/** Refuses a column that is not there: the first part of a path, as Lance checks the rest. */
function requireColumn({ fields }: Schema, path: string): void {
  const first = /^`([^`]*)`/.exec(path)?.[1] ?? path.split('.')[0]
  if (fields.some(({ name }) => name === path || name === first)) return
  const names = fields.map(({ name }) => name).join(', ')
  throw new CatalogError(
    'TableColumnNotFound',
    `There is no column ${JSON.stringify(path.slice(0, 64))}. The table has ${names.slice(0, 1_000)}.`,
  )
}

function parametersOf(request: ParameterFields): NewIndex['parameters'] {
  return given(request, parameters) as NewIndex['parameters']
}

/** The fields that a request gives a value for. */
function given(request: Readonly<Record<string, unknown>>, fields: object): Record<string, unknown> {
  const all = Object.keys(fields).map((name) => [name, request[name]] as const)
  return Object.fromEntries(all.filter(([, value]) => value !== undefined && value !== null))
}
