import * as v from 'valibot'
import { CatalogError } from '../../base/errors.ts'
import { identifier, stringMap, text } from '../../base/model/fields.ts'
import { keys } from '../../base/store/records.ts'
import { findNamespace, namespaceRecord } from '../lookup/names.ts'
import { commit, unchanged } from '../transactions/commit.ts'
import { adapterOperation } from './internal.ts'

/** What became of the properties that a request named. */
export interface ChangedProperties {
  readonly updated: readonly string[]
  readonly removed: readonly string[]
  /** Properties to remove that the namespace does not have. */
  readonly missing: readonly string[]
}

/** Sets and removes properties of a namespace. Throws `NamespaceNotFound`. */
export const changeNamespaceProperties = adapterOperation({
  like: 'createNamespace',
  changes: true,
  request: { id: identifier, updates: stringMap, removals: v.array(text) },
  run: async (core, { id, updates, removals }): Promise<ChangedProperties> => {
    if (id.length === 0)
      throw new CatalogError('InvalidInput', 'The root namespace has no properties. Name one below it.')
    const { updated, removed, missing } = await commit(core, 'UpdateNamespaceProperties', id, (change) => {
      const { writer, noted } = change
      const internalId = findNamespace(writer, id)
      const record = namespaceRecord(writer, internalId)
      const properties = { ...record.properties, ...updates }
      const removed = removals.filter((name) => Object.hasOwn(record.properties, name))
      for (const name of removed) delete properties[name]
      const found = {
        updated: Object.keys(updates),
        removed,
        missing: removals.filter((name) => !removed.includes(name)),
      }
      if (found.updated.length + removed.length === 0) return unchanged(found)
      noted.noteSubject(internalId, id)
      writer.put(keys.namespace(internalId), { ...record, properties: limitedTo(properties) })
      return found
    })
    return { updated, removed, missing }
  },
})

/** Properties within the limits of a new namespace. */
function limitedTo(properties: Record<string, string>): Record<string, string> {
  const checked = v.safeParse(stringMap, properties)
  if (checked.success) return checked.output as Record<string, string>
  throw new CatalogError('InvalidInput', `The properties of the namespace ${checked.issues[0].message}.`)
}
