import * as v from 'valibot'
import { identifier, requestFields, responseFields } from '../../base/model/fields.ts'
import { findNamespace } from '../lookup/names.ts'
import { always, operation } from './framework/operation.ts'
import { post } from './framework/route.ts'

/** Resolves when the namespace exists, and fails with `NamespaceNotFound` when it does not. */
export const namespaceExists = operation({
  name: 'namespaceExists',
  summary: 'Check that a namespace exists.',
  request: v.object({ ...requestFields, id: identifier }),
  response: v.object(responseFields),
  errors: ['NamespaceNotFound'],
  changes: false,
  isFromStore: always,
  route: post('/v1/namespace/{id}/exists'),
  command: { group: 'Namespaces', id: 'namespace', examples: ['./catalog prod'] },
  run: (core, { id }) =>
    core.store.read((reader) => {
      findNamespace(reader, id)
      return {}
    }),
})
