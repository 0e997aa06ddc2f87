import * as v from 'valibot'
import { identifier, requestFields, responseFields } from '../model/fields.ts'
import { always, operation } from './support/operation.ts'
import { findNamespace } from './support/resolve.ts'

/** Resolves when the namespace exists, and fails with `NamespaceNotFound` when it does not. */
export const namespaceExists = operation({
  name: 'namespaceExists',
  summary: 'Check that a namespace exists.',
  request: v.object({ ...requestFields, id: identifier }),
  response: v.object(responseFields),
  errors: ['NamespaceNotFound'],
  changes: false,
  isFromStore: always,
  run: (core, { id }) =>
    core.store.read((reader) => {
      findNamespace(reader, id)
      return {}
    }),
})
