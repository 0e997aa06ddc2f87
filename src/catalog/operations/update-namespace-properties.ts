import * as v from 'valibot'
import { invalid } from '../../base/errors.ts'
import { changeFields, identifier, requestFields, stringMap, text } from '../../base/model/fields.ts'
import { keys } from '../../base/store/records.ts'
import { findNamespace, namespaceRecord } from '../lookup/names.ts'
import { changedProperties, propertyFields, requireProperties } from '../lookup/properties.ts'
import { commit, unchanged } from '../transactions/commit.ts'
import { operation } from './framework/operation.ts'
import { post } from './framework/route.ts'

/**
 * Sets the properties in `updates`, removes those in `removals`, and answers with all that the namespace has then. The
 * others stay. `missing` lists names to remove that the namespace did not have. The root has no properties.
 *
 * ```ts
 * await catalog.updateNamespaceProperties({ id: ['prod'], updates: { owner: 'ada' }, removals: ['draft'] })
 * ```
 */
export const updateNamespaceProperties = operation({
  name: 'updateNamespaceProperties',
  summary: 'Set and remove properties of a namespace.',
  request: v.object({ ...requestFields, id: identifier, ...propertyFields }),
  response: v.object({ ...changeFields, properties: stringMap, missing: v.array(text) }),
  errors: ['NamespaceNotFound', 'ConcurrentModification'],
  changes: true,
  route: post('/v1/namespace/{id}/properties/update'),
  command: {
    group: 'Namespaces',
    aliases: ['set-namespace-properties'],
    id: 'namespace',
    examples: ['./catalog prod --updates owner=ada --removals draft'],
  },
  run: async (core, { id, updates, removals }) => {
    if (id.length === 0) {
      throw invalid('updateNamespaceProperties: the root namespace has no properties. Name one below it.')
    }
    requireProperties({ updates, removals }, 'updateNamespaceProperties')
    return commit(core, 'UpdateNamespaceProperties', id, ({ writer, noted }) => {
      const internalId = findNamespace(writer, id)
      noted.noteSubject(internalId, id)
      const record = namespaceRecord(writer, internalId)
      const changed = changedProperties(record.properties, { updates, removals }, 'updateNamespaceProperties')
      const { properties, isChanged } = changed
      const answer = { properties, missing: [...changed.missing] }
      if (!isChanged) return unchanged(answer)
      writer.put(keys.namespace(internalId), { ...record, properties })
      return answer
    })
  },
})
