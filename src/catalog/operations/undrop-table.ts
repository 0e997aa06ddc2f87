import * as v from 'valibot'
import { invalid } from '../../base/errors.ts'
import {
  changeFields,
  identifier,
  name,
  requestFields,
  stringMap,
  tableIdentifier,
  text,
} from '../../base/model/fields.ts'
import { identifierProblem } from '../../base/model/identifier.ts'
import { bringBack, heldWith, notHeld } from '../locations/held.ts'
import { locationOf } from '../locations/locations.ts'
import { findNamespace, requireFreeName } from '../lookup/names.ts'
import { commit } from '../transactions/commit.ts'
import { operation } from './framework/operation.ts'
import { post } from './framework/route.ts'
import { subject } from './framework/subjects.ts'

/**
 * Brings back a dropped table that is held, with its rows, versions, tags, branches and properties. If several had the
 * name, it is the one dropped last, or the one that `table_id` names, as `listDroppedTables` answers it. A name that is
 * taken by now is refused: `new_table_name` and `new_namespace_id` give another one. The namespace must exist.
 *
 * ```ts
 * await catalog.dropTable({ id: ['prod', 'flights'] })
 * await catalog.undropTable({ id: ['prod', 'flights'] })
 * ```
 */
export const undropTable = operation({
  name: 'undropTable',
  summary: 'Bring back a dropped table that is held.',
  request: v.object({
    ...requestFields,
    id: tableIdentifier,
    table_id: v.nullish(text),
    new_table_name: v.nullish(name),
    new_namespace_id: v.nullish(identifier),
  }),
  response: v.object({ ...changeFields, id: v.array(text), location: text, properties: stringMap }),
  errors: ['NamespaceNotFound', 'TableNotFound', 'TableAlreadyExists', 'ConcurrentModification'],
  changes: true,
  subjects: ({ id, new_table_name, new_namespace_id }) => {
    if (!Array.isArray(id) || (new_table_name == null && new_namespace_id == null)) return []
    const namespace = new_namespace_id ?? id.slice(0, -1)
    return Array.isArray(namespace) ? subject('undropTable', [...namespace, new_table_name ?? id.at(-1)]) : []
  },
  route: post('/v1/table/{id}/undrop'),
  command: {
    group: 'Tables',
    aliases: ['undrop'],
    positional: ['new_table_name'],
    namespaceFields: { new_table_name: 'new_namespace_id' },
    options: {
      new_namespace_id: 'namespace to bring it back to; the delimiter alone is the root',
      new_table_name: 'another name; with namespaces before it, the table comes back there',
    },
    examples: ['./catalog prod.flights', './catalog prod.flights archive.flights'],
  },
  run: async (core, { id, table_id, new_table_name, new_namespace_id }) => {
    const namespace = new_namespace_id ?? id.slice(0, -1)
    const target = [...namespace, new_table_name ?? id.at(-1)!]
    const problem = identifierProblem(target)
    if (problem) throw invalid(`undropTable: the new identifier ${problem}. Choose another namespace.`)
    return commit(core, 'UndropTable', target, ({ writer, noted }) => {
      const [held] = heldWith(writer, id, table_id)
      if (held === undefined) throw notHeld(id, table_id)
      const parent = findNamespace(writer, namespace)
      requireFreeName(writer, parent, target, 'TableAlreadyExists')
      noted.noteSubject(held.id, target)
      bringBack(writer, held, parent, target.at(-1)!)
      const location = locationOf(core.contentRoots, held.id, held.record)
      return { id: [...target], location, properties: held.record.properties }
    })
  },
})
