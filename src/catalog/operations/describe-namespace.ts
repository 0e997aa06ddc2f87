import * as v from 'valibot'
import { identifier, requestFields, responseFields, stringMap } from '../../base/model/fields.ts'
import { rootId } from '../../base/store/records.ts'
import { findNamespace, namespaceRecord } from '../lookup/names.ts'
import { always, operation } from './framework/operation.ts'
import { post } from './framework/route.ts'

/** Answers with a namespace's properties; those of the root are always empty. */
export const describeNamespace = operation({
  name: 'describeNamespace',
  summary: 'Describe a namespace.',
  request: v.object({ ...requestFields, id: identifier }),
  response: v.object({ ...responseFields, properties: stringMap }),
  errors: ['NamespaceNotFound'],
  changes: false,
  isFromStore: always,
  route: post('/v1/namespace/{id}/describe'),
  command: { group: 'Namespaces', id: 'namespace', examples: ['./catalog prod'] },
  run: (core, { id }) =>
    core.store.read((reader) => {
      const found = findNamespace(reader, id)
      return { properties: found === rootId ? {} : namespaceRecord(reader, found).properties }
    }),
})
