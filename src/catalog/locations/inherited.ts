import { invalid } from '../../base/errors.ts'
import { formatIdentifier } from '../../base/model/identifier.ts'
import { type CatalogRecord, keys } from '../../base/store/records.ts'
import type { Key, Store } from '../../base/store/store.ts'
import { identifierOf, keptTableById } from '../lookup/names.ts'
import { type ContentRoot, segmentsOf } from './locations.ts'

/** The most locations in one read. */
const atATime = 500

/**
 * Refuses roots below which tables lie that a copy of a catalog had before it got a content of its own: the original has
 * these tables, too, and their rows are its own.
 */
export async function requireNotInherited(
  store: Store,
  { adopted_at }: CatalogRecord,
  roots: readonly ContentRoot[],
): Promise<void> {
  if (adopted_at === undefined) return
  for (const { url } of roots) {
    const found = await firstBefore(store, segmentsOf(url), adopted_at)
    if (found === undefined) continue
    throw invalid(
      `locationRoots: below ${url} lies the table ${found}, which the catalog has from the one that it was copied from: its rows are that one's. Deregister such tables, or leave the root out.`,
    )
  }
}

async function firstBefore(store: Store, root: readonly string[], time: number): Promise<string | undefined> {
  let after: Key | undefined
  do {
    const { found, last } = await store.read((reader) => {
      const start = after === undefined ? {} : { start: after }
      const prefix = keys.location(root)
      const entries = [...reader.range<string | object>({ prefix, limit: atATime, ...start })]
      const table = entries
        .map(({ value }) => (typeof value === 'string' ? keptTableById(reader, value) : undefined))
        .find((one) => one !== undefined && one.record.created_at < time)
      return {
        found: table && formatIdentifier(identifierOf(reader, table.record)),
        last: entries.length < atATime ? undefined : entries.at(-1)!.key,
      }
    })
    if (found !== undefined) return found
    after = last && [...last, 0]
  } while (after !== undefined)
  return undefined
}
