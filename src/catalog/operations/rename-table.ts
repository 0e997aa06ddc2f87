import * as v from 'valibot'
import { invalid } from '../../base/errors.ts'
import { changeFields, identifier, name, requestFields, tableIdentifier } from '../../base/model/fields.ts'
import { formatIdentifier, identifierProblem } from '../../base/model/identifier.ts'
import { findNamespace, putTable, removeTable, requireFreeName } from '../lookup/names.ts'
import { commit, findTableToChange } from '../transactions/commit.ts'
import { operation } from './framework/operation.ts'
import { listedStatuses, post } from './framework/route.ts'
import { subject } from './framework/subjects.ts'

/**
 * Renames a table, and moves it when `new_namespace_id` is given (`[]` is the root; absent or null, the table
 * stays in its namespace). One atomic step: location, versions, tags and branches stay as they are. Where a namespace
 * was given, `context.renamed_to` of the answer is the identifier that the table has now, as some clients write `[]`
 * for a namespace that was not set.
 *
 * ```ts
 * await catalog.renameTable({ id: ['prod', 'flights'], new_table_name: 'flights_2024', new_namespace_id: ['archive'] })
 * ```
 */
export const renameTable = operation({
  name: 'renameTable',
  summary: 'Rename a table, and move it to another namespace if wanted.',
  request: v.object({
    ...requestFields,
    id: tableIdentifier,
    new_table_name: name,
    new_namespace_id: v.nullish(identifier),
  }),
  response: v.object(changeFields),
  errors: ['NamespaceNotFound', 'TableNotFound', 'TableAlreadyExists', 'ConcurrentModification'],
  changes: true,
  subjects: ({ id, new_table_name, new_namespace_id }) => {
    const namespace = new_namespace_id ?? (Array.isArray(id) ? id.slice(0, -1) : undefined)
    return Array.isArray(namespace) ? subject('renameTable', [...namespace, new_table_name]) : []
  },
  route: post('/v1/table/{id}/rename', { statuses: [...listedStatuses, 409] }),
  command: {
    group: 'Tables',
    aliases: ['rename', 'mv'],
    positional: ['new_table_name'],
    namespaceFields: { new_table_name: 'new_namespace_id' },
    options: {
      new_namespace_id: 'namespace to move to; the delimiter alone is the root',
      new_table_name: 'new name; with namespaces before it, the table moves there',
    },
    examples: ['./catalog prod.flights flights_2024', './catalog prod.flights archive.flights_2024'],
  },
  run: async (core, { id, new_table_name, new_namespace_id }) => {
    const namespace = new_namespace_id ?? id.slice(0, -1)
    const target = [...namespace, new_table_name]
    const problem = identifierProblem(target)
    if (problem) throw invalid(`renameTable: the new identifier ${problem}. Choose another namespace.`)
    return commit(core, 'RenameTable', id, (change) => {
      const { writer } = change
      const { id: internalId, record } = findTableToChange(change, id)
      change.noted.noteSubject(internalId, id, target)
      const parent = findNamespace(writer, namespace)
      requireFreeName(writer, parent, target, 'TableAlreadyExists')
      removeTable(writer, internalId, record)
      putTable(writer, internalId, { ...record, parent, name: new_table_name })
      // `[]` may be meant as no namespace, so a table that moved to the root by mistake can be found and moved back.
      return new_namespace_id == null ? {} : { context: { renamed_to: formatIdentifier(target) } }
    })
  },
})
