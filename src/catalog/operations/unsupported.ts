import * as v from 'valibot'
import { unsupported } from '../../base/errors.ts'
import { requestFields, responseFields } from '../../base/model/fields.ts'
import { operation } from './framework/operation.ts'
import { post, type Route } from './framework/route.ts'

/*
 * The operations of the protocol that this catalog does not have. Defining them here lets each call fail with the
 * operation's name, and shows in one place what is missing.
 */

function unsupportedOperation<const Name extends string>(
  name: Name,
  summary: string,
  instead: string,
  route: Route,
) {
  return operation({
    name,
    summary: `${summary} Not supported.`,
    // Any request gets the answer that this is not supported. So a client passes all fields on.
    request: v.looseObject(requestFields),
    response: v.object(responseFields),
    errors: ['Unsupported'],
    changes: false,
    route,
    run: async () => {
      throw unsupported(`${name} is not supported by this catalog.`, instead)
    },
  })
}

const noViews =
  'A view is kept up to date by workers of the server, and there are none here. Query the table, and create another one from the rows.'

export const alterTableBackfillColumns = unsupportedOperation(
  'alterTableBackfillColumns',
  'Backfill columns.',
  'A backfill runs functions of users on workers of the server, and there are none here. Compute the values with a SQL expression in alterTableAddColumns or updateTable.',
  post('/v1/table/{id}/backfill_column'),
)
export const createMaterializedView = unsupportedOperation(
  'createMaterializedView',
  'Create a materialized view.',
  noViews,
  post('/v1/materialized_view/{id}/create'),
)
export const refreshMaterializedView = unsupportedOperation(
  'refreshMaterializedView',
  'Refresh a materialized view.',
  noViews,
  post('/v1/materialized_view/{id}/refresh'),
)
