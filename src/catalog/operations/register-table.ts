import * as v from 'valibot'
import {
  changeFields,
  choice,
  requestFields,
  stringMap,
  tableIdentifier,
  text,
} from '../../base/model/fields.ts'
import type { TableRecord } from '../../base/store/records.ts'
import { askAboutLocation, claimLocation } from '../locations/claim.ts'
import { checkLocation, locationOf, namedLocation } from '../locations/locations.ts'
import { commitDeregistering, putRegistration, readRegistration } from '../locations/registration.ts'
import { removeWaiting } from '../locations/waiting.ts'
import { findNamespace, lookUpTable, putTable, requireFreeName } from '../lookup/names.ts'
import { requireRule } from '../lookup/retention-rule.ts'
import { TargetReplaced } from '../transactions/retry.ts'
import { type OperationContext, operation } from './framework/operation.ts'
import { post } from './framework/route.ts'

const request = v.object({
  ...requestFields,
  id: tableIdentifier,
  location: text,
  mode: v.nullish(choice('Create', 'Overwrite')),
  properties: v.nullish(stringMap),
})

/**
 * Gives a name to content that lies at `location`. Where a table was deregistered, its rows, versions, tags and
 * branches are back. Content of another engine can be listed, described, renamed and tagged like any other. `mode` says
 * what happens when a table has that name already: `Create` (the default) fails, `Overwrite` deregisters that table.
 */
export const registerTable = operation({
  name: 'registerTable',
  summary: 'Register a table whose content exists already.',
  request,
  response: v.object({ ...changeFields, location: text, properties: stringMap }),
  errors: ['NamespaceNotFound', 'TableAlreadyExists', 'InvalidTableState', 'ConcurrentModification'],
  changes: true,
  location: namedLocation,
  route: post('/v1/table/{id}/register'),
  command: {
    group: 'Tables',
    aliases: ['register'],
    positional: ['location'],
    begins: true,
    examples: ['./catalog prod.old file:///data/old-table'],
  },
  run: (core, asked) => register(core, asked),
})

/** With `moves`, a table that is replaced keeps its versions, tags and branches at the new location. */
export async function register(
  core: OperationContext,
  { id, location: given, mode, properties }: v.InferOutput<typeof request>,
  moves = false,
) {
  requireRule(properties)
  const location = checkLocation(core.contentRoots, given)
  await askAboutLocation(core, 'registerTable', location)
  const internalId = core.newTableId()
  const remembered = await readRegistration(core, location)
  return commitDeregistering(core, 'RegisterTable', id, ({ writer, now, noted }, detach) => {
    noted.noteSubject(internalId)
    const parent = findNamespace(writer, id.slice(0, -1))
    const existing = mode === 'Overwrite' ? lookUpTable(writer, id) : undefined
    const isSame = existing && locationOf(core.contentRoots, existing.id, existing.record) === location
    const left = existing && detach(existing)
    if (!existing) requireFreeName(writer, parent, id, 'TableAlreadyExists')
    claimLocation(core, writer, location, internalId, 'registerTable')
    // The location was registered, and released again, since it was read.
    if (!isSame && !remembered.isCurrent(writer)) throw new TargetReplaced(id)
    if (!isSame) remembered.requireKnownShares(writer)
    removeWaiting(core, writer, location)
    const known = isSame || (moves && left) ? left : remembered.known
    const record: TableRecord = {
      parent,
      name: id.at(-1)!,
      location,
      properties: properties ?? known?.properties ?? {},
      created_at: now,
      main: known?.main ?? { latest: null, last: null },
      registered: true,
    }
    putTable(writer, internalId, record)
    if (known) putRegistration(writer, internalId, known)
    return { location, properties: record.properties }
  })
}
