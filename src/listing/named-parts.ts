import * as v from 'valibot'
import type { Core } from '../catalog/core.ts'
import { findTable } from '../lookup/names.ts'
import { limit, pageToken, requestFields, tableIdentifier } from '../model/fields.ts'
import type { Key, Reader, Value } from '../store/store.ts'
import { pageOfEntries, readPage } from './paging.ts'

/** A request to list the named parts of a table: its tags or its branches. */
export const listNamedRequest = v.object({
  ...requestFields,
  id: tableIdentifier,
  page_token: pageToken,
  limit: v.nullish(limit),
})

/** One kind of named parts, such as tags, and where the store keeps them. */
export interface NamedParts<R extends Value, T> {
  /** The name of this listing in page tokens. */
  readonly listing: string
  readonly prefix: (table: string) => Key
  /** What the response says of one part. */
  readonly describe: (reader: Reader, table: string, name: string, record: R) => T
}

/** One page of the named parts of a table, as a map. */
export async function listNamed<R extends Value, T>(
  core: Core,
  { id, page_token, limit }: v.InferOutput<typeof listNamedRequest>,
  { listing, prefix, describe }: NamedParts<R, T>,
): Promise<{ named: Record<string, T>; page_token?: string }> {
  const asked = { listing: [listing, id], page_token, limit }
  const { items, ...more } = await readPage(core, asked, (reader, after, size) => {
    const table = findTable(reader, id).id
    return pageOfEntries<R, [string, T]>(reader, prefix(table), after, size, ({ key, value }) => {
      const name = String(key[2])
      return [name, describe(reader, table, name, value)]
    })
  })
  return { named: Object.fromEntries(items), ...more }
}
