import * as v from 'valibot'
import {
  identifier,
  limit,
  name,
  nextPageToken,
  pageToken,
  requestFields,
  responseFields,
  text,
} from '../../base/model/fields.ts'
import { keys } from '../../base/store/records.ts'
import { pageOfNames, readPage } from '../listing/paging.ts'
import { findNamespace } from '../lookup/names.ts'
import { always, operation } from './framework/operation.ts'
import { get, pageQuery } from './framework/route.ts'

/**
 * Lists the names of the namespaces directly in a namespace, in order of their UTF-8 bytes, a page at a
 * time. Pass `page_token` back until an answer has no token.
 */
export const listNamespaces = operation({
  name: 'listNamespaces',
  summary: 'List the child namespaces of a namespace.',
  request: v.object({
    ...requestFields,
    id: identifier,
    page_token: pageToken,
    limit: v.nullish(limit),
    /** Begins after this name when there is no `page_token`. Not part of the protocol. */
    start_after: v.nullish(name),
  }),
  response: v.object({ ...responseFields, namespaces: v.array(text), page_token: nextPageToken }),
  errors: ['NamespaceNotFound'],
  changes: false,
  isFromStore: always,
  route: get('/v1/namespace/{id}/list', pageQuery),
  command: {
    group: 'Namespaces',
    aliases: ['namespaces'],
    id: 'namespace',
    rootByDefault: true,
    lists: { field: 'namespaces', item: 'namespace' },
    examples: ['./catalog', './catalog prod'],
  },
  run: async (core, { id, page_token, limit, start_after }) => {
    const { items, ...more } = await readPage(
      core,
      { listing: ['namespaces', id], page_token, limit },
      (reader, after, size) => {
        const prefix = keys.namespaceNames(findNamespace(reader, id))
        return pageOfNames(
          reader,
          prefix,
          after ?? (start_after == null ? undefined : [start_after]),
          size,
          (child) => child,
        )
      },
    )
    return { namespaces: [...items], ...more }
  },
})
