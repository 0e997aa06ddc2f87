import { tableIdentifier, text } from '../../base/model/fields.ts'
import { checkLocation, locationOf, namedLocation } from '../locations/locations.ts'
import { findTable } from '../lookup/names.ts'
import { register } from '../operations/register-table.ts'
import { adapterOperation } from './internal.ts'

/**
 * Moves a table to another location, with its versions, tags and branches. Nothing is copied: its content stays where it
 * is, and nobody else gets that location. Does nothing to a table that is there.
 */
export const moveTable = adapterOperation({
  like: 'registerTable',
  changes: true,
  request: { id: tableIdentifier, location: text },
  location: namedLocation,
  run: async (core, { id, location: given }) => {
    const location = checkLocation(core.contentRoots, given)
    const isThere = await core.store.read((reader) => {
      const table = findTable(reader, id)
      return locationOf(core.contentRoots, table.id, table.record) === location
    })
    if (!isThere) await register(core, { id, location, mode: 'Overwrite' }, true)
  },
})
