import * as v from 'valibot'
import { CatalogError } from '../../base/errors.ts'
import { changeFields, choice, identifier, requestFields, stringMap } from '../../base/model/fields.ts'
import { formatIdentifier, type Identifier } from '../../base/model/identifier.ts'
import { keys, recordFormat } from '../../base/store/records.ts'
import { dropEverythingIn } from '../locations/drop.ts'
import { removeContent } from '../locations/removal.ts'
import { findNamespace, namespaceRecord, requireFreeName } from '../lookup/names.ts'
import { commit, unchanged } from '../transactions/commit.ts'
import { operation } from './framework/operation.ts'
import { post } from './framework/route.ts'

/**
 * Creates a namespace in one that exists, and answers with its properties. `mode` says what happens when the
 * namespace exists already. `Create` (the default) fails, and `ExistOk` leaves the namespace as it is. `Overwrite`
 * drops the namespace with all its content and creates it again.
 *
 * ```ts
 * await catalog.createNamespace({ id: ['prod'], properties: { owner: 'flights team' } })
 * ```
 */
export const createNamespace = operation({
  name: 'createNamespace',
  summary: 'Create a namespace.',
  request: v.object({
    ...requestFields,
    id: identifier,
    mode: v.nullish(choice('Create', 'ExistOk', 'Overwrite')),
    properties: v.nullish(stringMap),
  }),
  response: v.object({ ...changeFields, properties: v.optional(stringMap) }),
  errors: ['NamespaceNotFound', 'NamespaceAlreadyExists', 'ConcurrentModification'],
  changes: true,
  route: post('/v1/namespace/{id}/create'),
  command: {
    group: 'Namespaces',
    aliases: ['mkns'],
    id: 'namespace',
    begins: true,
    examples: [
      './catalog prod',
      './catalog prod.eu.flights --parents',
      './catalog prod.eu --properties owner=ada --mode ExistOk',
    ],
  },
  run: async (core, { id, mode, properties: given }) => {
    const properties = given ?? {}
    if (id.length === 0) {
      throw new CatalogError(
        'NamespaceAlreadyExists',
        'The root namespace always exists; give the id of one below it.',
      )
    }
    const internalId = core.newId()
    let dropped: string[] = []
    const response = await commit(core, 'CreateNamespace', id, (change) => {
      const { writer, now, noted } = change
      dropped = []
      const parent = findNamespace(writer, id.slice(0, -1))
      const name = id.at(-1)!
      const existing = writer.get<string>(keys.namespaceName(parent, name))
      if (existing !== undefined && mode === 'ExistOk') {
        return unchanged({ properties: namespaceRecord(writer, existing).properties })
      }
      if (existing === undefined) requireFreeName(writer, parent, id, 'NamespaceAlreadyExists')
      else if (mode !== 'Overwrite') throw alreadyExists(id)
      else {
        dropped = dropEverythingIn(core, change, existing, id)
        writer.remove(keys.namespace(existing))
      }
      noted.noteSubject(internalId)
      writer.put(keys.namespaceName(parent, name), internalId)
      writer.put(keys.namespace(internalId), {
        v: recordFormat,
        parent,
        name,
        properties,
        created_at: now,
      })
      return { properties }
    })
    await removeContent(core, dropped)
    return response
  },
})

function alreadyExists(id: Identifier): CatalogError {
  return new CatalogError(
    'NamespaceAlreadyExists',
    `A namespace ${formatIdentifier(id)} already exists. Choose another name, or create it with mode ExistOk, which keeps the one that is there.`,
  )
}
