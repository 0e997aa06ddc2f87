import * as v from 'valibot'
import { CatalogError } from '../errors.ts'
import { requestFields, responseFields } from '../model/fields.ts'
import { operation } from './framework/operation.ts'

/*
 * The operations of the protocol that this catalog does not have. They are here so that whoever calls one is
 * told so by name, and so that what is missing can be seen in one place.
 */

function unsupported<const Name extends string>(name: Name, summary: string, instead: string) {
  return operation({
    name,
    summary: `${summary} Not supported.`,
    request: v.object(requestFields),
    response: v.object(responseFields),
    errors: ['Unsupported'],
    changes: false,
    run: async () => {
      throw new CatalogError('Unsupported', `${name} is not supported by this catalog. ${instead}`)
    },
  })
}

const rewrite = 'Query the rows, change them, and insert them with mode Overwrite.'
const noIndices = 'Predicates are evaluated without an index; leave it out.'
const noPlans = 'Run the query itself with queryTable.'
const noViews = 'Query the table, and create another one from the rows.'

export const mergeInsertIntoTable = unsupported('mergeInsertIntoTable', 'Merge rows into a table.', rewrite)
export const updateTable = unsupported('updateTable', 'Update rows of a table.', rewrite)
export const alterTableAddColumns = unsupported('alterTableAddColumns', 'Add columns.', rewrite)
export const alterTableAlterColumns = unsupported('alterTableAlterColumns', 'Alter columns.', rewrite)
export const alterTableDropColumns = unsupported('alterTableDropColumns', 'Drop columns.', rewrite)
export const alterTableBackfillColumns = unsupported(
  'alterTableBackfillColumns',
  'Backfill columns.',
  rewrite,
)
export const updateFieldMetadata = unsupported(
  'updateFieldMetadata',
  'Update the metadata of fields.',
  rewrite,
)
export const getTableStats = unsupported(
  'getTableStats',
  'Get statistics of a table.',
  'Describe the table with load_detailed_metadata.',
)
export const explainTableQueryPlan = unsupported('explainTableQueryPlan', 'Explain a query.', noPlans)
export const analyzeTableQueryPlan = unsupported('analyzeTableQueryPlan', 'Analyze a query.', noPlans)
export const createTableIndex = unsupported('createTableIndex', 'Create an index.', noIndices)
export const createTableScalarIndex = unsupported(
  'createTableScalarIndex',
  'Create a scalar index.',
  noIndices,
)
export const listTableIndices = unsupported('listTableIndices', 'List the indices of a table.', noIndices)
export const describeTableIndexStats = unsupported('describeTableIndexStats', 'Describe an index.', noIndices)
export const dropTableIndex = unsupported('dropTableIndex', 'Drop an index.', noIndices)
export const createMaterializedView = unsupported(
  'createMaterializedView',
  'Create a materialized view.',
  noViews,
)
export const refreshMaterializedView = unsupported(
  'refreshMaterializedView',
  'Refresh a materialized view.',
  noViews,
)
