import * as v from 'valibot'
import { changeFields, requestFields, stringMap, tableIdentifier, text } from '../../base/model/fields.ts'
import type { Identifier } from '../../base/model/identifier.ts'
import { locationOf, type Roots } from '../locations/locations.ts'
import { commitDeregistering, type Deregister } from '../locations/registration.ts'
import { type ChangeContext, findTableToChange } from '../transactions/commit.ts'
import { operation } from './framework/operation.ts'
import { listedStatuses, post } from './framework/route.ts'

const deregisterTableRequest = v.object({ ...requestFields, id: tableIdentifier })

const deregisterTableResponse = v.object({
  ...changeFields,
  id: v.array(text),
  location: text,
  // The protocol answers null where an implementation has no properties.
  properties: v.nullable(stringMap),
})

/**
 * Takes a table out of its namespace and answers with where its content lies. The content stays: registering
 * the location, in this catalog or another, brings back rows, versions, tags and branches.
 *
 * ```ts
 * const { location } = await catalog.deregisterTable({ id: ['prod', 'flights'] })
 * await other.registerTable({ id: ['archive', 'flights'], location })
 * ```
 */
export const deregisterTable = operation({
  name: 'deregisterTable',
  summary: 'Deregister a table; its content stays where it is.',
  request: deregisterTableRequest,
  response: deregisterTableResponse,
  errors: ['TableNotFound', 'ConcurrentModification'],
  changes: true,
  route: post('/v1/table/{id}/deregister', { statuses: listedStatuses }),
  command: { group: 'Tables', aliases: ['deregister'], examples: ['./catalog prod.flights'] },
  run: (core, { id }) =>
    commitDeregistering(core, 'DeregisterTable', id, (change, detach) =>
      deregister(core, change, detach, id),
    ),
})

export function deregister(core: Roots, change: ChangeContext, detach: Deregister, id: Identifier) {
  const table = findTableToChange(change, id)
  detach(table)
  return {
    id: [...id],
    location: locationOf(core.contentRoots, table.id, table.record),
    properties: table.record.properties,
  }
}
