import * as v from 'valibot'
import { limit, pageToken, requestFields, tableIdentifier } from '../../base/model/fields.ts'
import type { Position } from '../../base/model/page-token.ts'
import type { Key, Reader, Value } from '../../base/store/store.ts'
import type { LanceContext } from '../lance/context.ts'
import { type Dataset, findDataset } from '../lance/dataset.ts'
import { findTable } from '../lookup/names.ts'
import { type Page, pageOfEntries, readPage } from './paging.ts'

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
  /** The named parts of a table of Lance, which keeps them itself, in the order of their names. */
  readonly inDataset: (dataset: Dataset) => Promise<readonly (readonly [name: string, T])[]>
}

/** One page of the named parts of a table, as a map. */
export async function listNamed<R extends Value, T>(
  core: LanceContext,
  { id, page_token, limit }: v.InferOutput<typeof listNamedRequest>,
  { listing, prefix, describe, inDataset }: NamedParts<R, T>,
): Promise<{ named: Record<string, T>; page_token?: string }> {
  const asked = { listing: [listing, id], page_token, limit }
  const dataset = await findDataset(core, id)
  const parts = dataset && (await inDataset(dataset))
  const { items, ...more } = await readPage<readonly [string, T]>(core, asked, (reader, after, size) => {
    if (parts) return pageOfList(parts, after, size)
    const table = findTable(reader, id).id
    const range = { prefix: prefix(table) }
    return pageOfEntries<R, readonly [string, T]>(reader, range, after, size, ({ key, value }) => {
      const name = String(key[2])
      return [name, describe(reader, table, name, value)]
    })
  })
  return { named: Object.fromEntries(items), ...more }
}

/** One page of a list in the order of names. */
export function pageOfList<T>(
  parts: readonly (readonly [name: string, T])[],
  after: Position | undefined,
  size: number,
): Page<readonly [string, T]> {
  const left = after === undefined ? parts : parts.filter(([name]) => name > String(after[0]))
  const items = left.slice(0, size)
  return left.length > size ? { items, next: [items.at(-1)?.[0] ?? ''] } : { items }
}
