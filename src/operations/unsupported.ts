import * as v from 'valibot'
import { CatalogError } from '../errors.ts'
import { requestFields, responseFields } from '../model/fields.ts'
import { operation } from './framework/operation.ts'
import { post, type Route } from './framework/route.ts'

/*
 * The operations of the protocol that this catalog does not have. Defining them here lets each call fail with the
 * operation's name, and shows in one place what is missing.
 */

function unsupported<const Name extends string>(name: Name, summary: string, instead: string, route: Route) {
  return operation({
    name,
    summary: `${summary} Not supported.`,
    // Whatever it is asked, it answers that it is not supported; a client hands on all fields.
    request: v.looseObject(requestFields),
    response: v.object(responseFields),
    errors: ['Unsupported'],
    changes: false,
    route,
    run: async () => {
      throw new CatalogError('Unsupported', `${name} is not supported by this catalog. ${instead}`)
    },
  })
}

const rewrite = 'Query the rows, change them, and insert them with mode Overwrite.'
const noIndices = 'Predicates are evaluated without an index; leave it out.'
const noPlans = 'Run the query itself with queryTable.'
const noViews = 'Query the table, and create another one from the rows.'

export const mergeInsertIntoTable = unsupported(
  'mergeInsertIntoTable',
  'Merge rows into a table.',
  rewrite,
  post('/v1/table/{id}/merge_insert', {
    body: 'arrow',
    query: {
      branch: 'text',
      on: 'text',
      when_matched_update_all: 'boolean',
      when_matched_update_all_filt: 'text',
      when_not_matched_insert_all: 'boolean',
      when_not_matched_by_source_delete: 'boolean',
      when_not_matched_by_source_delete_filt: 'text',
      timeout: 'text',
      use_index: 'boolean',
    },
    rows: true,
  }),
)
export const updateTable = unsupported(
  'updateTable',
  'Update rows of a table.',
  rewrite,
  post('/v1/table/{id}/update', { rows: true }),
)
export const alterTableAddColumns = unsupported(
  'alterTableAddColumns',
  'Add columns.',
  rewrite,
  post('/v1/table/{id}/add_columns', { rows: true }),
)
export const alterTableAlterColumns = unsupported(
  'alterTableAlterColumns',
  'Alter columns.',
  rewrite,
  post('/v1/table/{id}/alter_columns'),
)
export const alterTableDropColumns = unsupported(
  'alterTableDropColumns',
  'Drop columns.',
  rewrite,
  post('/v1/table/{id}/drop_columns'),
)
export const alterTableBackfillColumns = unsupported(
  'alterTableBackfillColumns',
  'Backfill columns.',
  rewrite,
  post('/v1/table/{id}/backfill_column'),
)
export const updateFieldMetadata = unsupported(
  'updateFieldMetadata',
  'Update the metadata of fields.',
  rewrite,
  post('/v1/table/{id}/update_field_metadata'),
)
export const getTableStats = unsupported(
  'getTableStats',
  'Get statistics of a table.',
  'Describe the table with load_detailed_metadata.',
  post('/v1/table/{id}/stats', { methods: ['POST', 'GET'] }),
)
export const explainTableQueryPlan = unsupported(
  'explainTableQueryPlan',
  'Explain a query.',
  noPlans,
  post('/v1/table/{id}/explain_plan'),
)
export const analyzeTableQueryPlan = unsupported(
  'analyzeTableQueryPlan',
  'Analyze a query.',
  noPlans,
  post('/v1/table/{id}/analyze_plan'),
)
export const createTableIndex = unsupported(
  'createTableIndex',
  'Create an index.',
  noIndices,
  post('/v1/table/{id}/create_index'),
)
export const createTableScalarIndex = unsupported(
  'createTableScalarIndex',
  'Create a scalar index.',
  noIndices,
  post('/v1/table/{id}/create_scalar_index'),
)
export const listTableIndices = unsupported(
  'listTableIndices',
  'List the indices of a table.',
  noIndices,
  post('/v1/table/{id}/index/list', { methods: ['POST', 'GET'] }),
)
export const describeTableIndexStats = unsupported(
  'describeTableIndexStats',
  'Describe an index.',
  noIndices,
  post('/v1/table/{id}/index/{index_name}/stats', { methods: ['POST', 'GET'] }),
)
export const dropTableIndex = unsupported(
  'dropTableIndex',
  'Drop an index.',
  noIndices,
  post('/v1/table/{id}/index/{index_name}/drop', { body: 'none', query: { branch: 'text' } }),
)
export const createMaterializedView = unsupported(
  'createMaterializedView',
  'Create a materialized view.',
  noViews,
  post('/v1/materialized_view/{id}/create'),
)
export const refreshMaterializedView = unsupported(
  'refreshMaterializedView',
  'Refresh a materialized view.',
  noViews,
  post('/v1/materialized_view/{id}/refresh'),
)
