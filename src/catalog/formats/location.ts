import { tableIdentifier, text } from '../../base/model/fields.ts'
import { checkLocation, namedLocation } from '../locations/locations.ts'
import { register } from '../operations/register-table.ts'
import { adapterOperation, locationOfTable } from './internal.ts'

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
    if ((await locationOfTable(core, id)) !== location)
      await register(core, { id, location, mode: 'Overwrite' }, true)
  },
})
