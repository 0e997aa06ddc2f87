import * as v from 'valibot'
import { CatalogError, invalid } from '../../base/errors.ts'
import {
  choice,
  identifier,
  requestFields,
  responseFields,
  stringMap,
  text,
} from '../../base/model/fields.ts'
import { formatIdentifier } from '../../base/model/identifier.ts'
import { isNamespaceName, keys } from '../../base/store/records.ts'
import { dropEverythingIn } from '../locations/drop.ts'
import { removeContent } from '../locations/removal.ts'
import { findNamespace, lookUpNamespace, namespaceRecord } from '../lookup/names.ts'
import { commit, unchanged } from '../transactions/commit.ts'
import { operation } from './framework/operation.ts'
import { post } from './framework/route.ts'

/**
 * Drops a namespace and answers with the properties it had. `behavior` says what happens when the namespace is not
 * empty. `Restrict` (the default) fails; `Cascade` drops everything in the namespace in one atomic step, the tables'
 * content included. Tables are dropped as `dropTable` does it: where the catalog holds dropped tables, they can be brought
 * back. `mode` says what happens when the namespace does not exist: `Fail` (the default) or `Skip`.
 */
export const dropNamespace = operation({
  name: 'dropNamespace',
  summary: 'Drop a namespace.',
  request: v.object({
    ...requestFields,
    id: identifier,
    mode: v.nullish(choice('Fail', 'Skip')),
    behavior: v.nullish(choice('Restrict', 'Cascade')),
  }),
  response: v.object({
    ...responseFields,
    properties: v.optional(stringMap),
    transaction_id: v.optional(v.array(text)),
  }),
  errors: ['NamespaceNotFound', 'NamespaceNotEmpty', 'ConcurrentModification'],
  changes: true,
  route: post('/v1/namespace/{id}/drop'),
  command: {
    group: 'Namespaces',
    aliases: ['rmns'],
    id: 'namespace',
    examples: ['./catalog prod', './catalog prod --behavior Cascade'],
  },
  run: async (core, { id, mode, behavior }) => {
    if (id.length === 0) throw invalid('The root namespace cannot be dropped; give the id of one below it.')
    let dropped: string[] = []
    const { transaction_id, ...response } = await commit(core, 'DropNamespace', id, (change) => {
      const { writer, noted } = change
      dropped = []
      if (mode === 'Skip' && lookUpNamespace(writer, id) === undefined) return unchanged({})
      const internalId = findNamespace(writer, id)
      noted.noteSubject(internalId)
      const { parent, name, properties } = namespaceRecord(writer, internalId)
      if (behavior === 'Cascade') {
        dropped = dropEverythingIn(core, change, internalId, id)
      } else {
        for (const { key } of writer.range({ prefix: keys.names(internalId), limit: 1, keysOnly: true })) {
          const child = {
            kind: isNamespaceName(key) ? 'namespace' : 'table',
            id: [...id, String(key[3])],
          } as const
          const [isShown] = core.access?.mayRead([child]) ?? [true]
          throw new CatalogError(
            'NamespaceNotEmpty',
            `The namespace ${formatIdentifier(id)} is not empty${isShown ? `: it holds ${formatIdentifier(child.id)}` : ''}. Drop what is in it first, or drop it with behavior Cascade.`,
          )
        }
      }
      writer.remove(keys.namespaceName(parent, name))
      writer.remove(keys.namespace(internalId))
      return { properties }
    })
    await removeContent(core, dropped)
    return transaction_id === undefined ? response : { ...response, transaction_id: [transaction_id] }
  },
})
