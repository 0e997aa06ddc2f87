import * as v from 'valibot'
import { stringMap } from '../../base/model/fields.ts'
import type { Transaction } from '../../catalog/index.ts'
import { IcebergError } from '../errors.ts'
import { inTermsOfIceberg, inTransaction, type TransactionalCatalog } from '../records/lookup.ts'
import type { Caller } from '../records/metadata-files.ts'
import { type Form, nothing } from '../records/once.ts'
import { checkBody, namespaceName } from './body.ts'
import type { Endpoint } from './endpoint.ts'
import { namespaceInQuery } from './names.ts'
import { namesOf, nextPage, pageOf } from './paging.ts'

const created = v.object({ namespace: namespaceName, properties: v.nullish(stringMap, {}) })
const changed = v.object({ removals: v.nullish(v.array(v.string()), []), updates: v.nullish(stringMap, {}) })

const missingForm: Form<readonly string[]> = {
  kept: (missing) => ({ missing }),
  again: (kept) => (kept as { readonly missing: readonly string[] }).missing,
}

/** Makes a change by one operation. It is a transaction only where something is kept with it. */
function oneOperation<T>(
  catalog: TransactionalCatalog,
  caller: Caller,
  form: Form<T>,
  work: (on: Transaction) => Promise<T>,
): Promise<T> {
  return caller.keyed ? inTransaction(catalog, caller, form, work) : work(catalog as unknown as Transaction)
}

/** The endpoints for namespaces. */
export const namespaceEndpoints: readonly Endpoint[] = [
  {
    name: 'listNamespaces',
    method: 'GET',
    path: 'namespaces',
    keptAs: 'listNamespaces',
    run: async ({ catalog }, { query, request }) => {
      const parent = namespaceInQuery(query.get('parent'))
      const { options, context } = request
      await request.authorize('listNamespaces', parent)
      const { names, next } = await inTermsOfIceberg({ namespace: parent }, () =>
        namesOf(pageOf(query), async ({ page_token, limit }) => {
          const asked = { id: [...parent], page_token, limit, context }
          const { namespaces, page_token: next } = await catalog.listNamespaces(asked, options)
          return { names: namespaces, next }
        }),
      )
      return { body: { namespaces: names.map((name) => [...parent, name]), ...nextPage(next) } }
    },
  },
  {
    name: 'createNamespace',
    method: 'POST',
    path: 'namespaces',
    body: 'json',
    run: async ({ catalog }, { request }) => {
      const { namespace, properties } = checkBody(created, request.body)
      const { options, context } = request
      await request.authorize('createNamespace', namespace)
      await oneOperation(catalog, request, nothing, (on) =>
        inTermsOfIceberg({ namespace, parent: namespace.slice(0, -1) }, async () => {
          await on.createNamespace({ id: namespace, properties, context }, options)
        }),
      )
      return { body: { namespace, properties } }
    },
  },
  {
    name: 'loadNamespaceMetadata',
    method: 'GET',
    path: 'namespaces/{namespace}',
    access: 'describeNamespace',
    run: async ({ catalog }, { namespace, request: { options, context } }) => {
      const { properties } = await inTermsOfIceberg({ namespace }, () =>
        catalog.describeNamespace({ id: [...namespace], context }, options),
      )
      return { body: { namespace, properties } }
    },
  },
  {
    name: 'namespaceExists',
    method: 'HEAD',
    path: 'namespaces/{namespace}',
    access: 'namespaceExists',
    run: async ({ catalog }, { namespace, request: { options, context } }) => {
      await inTermsOfIceberg({ namespace }, () =>
        catalog.describeNamespace({ id: [...namespace], context }, options),
      )
      return {}
    },
  },
  {
    name: 'dropNamespace',
    method: 'DELETE',
    path: 'namespaces/{namespace}',
    access: 'dropNamespace',
    run: async ({ catalog }, { namespace, request }) => {
      const { options, context } = request
      await oneOperation(catalog, request, nothing, (on) =>
        inTermsOfIceberg({ namespace }, async () => {
          await on.dropNamespace({ id: [...namespace], context }, options)
        }),
      )
      return {}
    },
  },
  {
    name: 'updateProperties',
    method: 'POST',
    path: 'namespaces/{namespace}/properties',
    access: 'updateNamespaceProperties',
    body: 'json',
    run: async ({ catalog }, { namespace, request }) => {
      const { removals, updates } = checkBody(changed, request.body)
      const both = removals.find((name) => Object.hasOwn(updates, name))
      if (both !== undefined)
        throw new IcebergError(
          'UnprocessableEntityException',
          `Invalid namespace update: cannot simultaneously set and remove keys: [${both}]`,
        )
      const { options, context } = request
      const missing = await oneOperation(catalog, request, missingForm, (on) =>
        inTermsOfIceberg({ namespace }, async () => {
          const id = [...namespace]
          // Nothing to change is a success to clients of Iceberg, and no request to a catalog.
          if (removals.length === 0 && Object.keys(updates).length === 0) {
            await on.namespaceExists({ id, context }, options)
            return []
          }
          return (await on.updateNamespaceProperties({ id, updates, removals, context }, options)).missing
        }),
      )
      const removed = [...new Set(removals)].filter((name) => !missing.includes(name))
      return { body: { updated: Object.keys(updates), removed, missing } }
    },
  },
]
