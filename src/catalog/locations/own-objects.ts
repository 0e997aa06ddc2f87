import { createHash } from 'node:crypto'
import type { CatalogRecord } from '../../base/store/records.ts'
import type { Roots } from './locations.ts'

/*
 * Other catalogs and engines keep files beside those that this catalog writes for a format, with names of the same form.
 * So the names of its own have a mark, by which a vacuum knows them. The rest is left alone.
 */

interface OwnContext extends Roots {
  readonly catalog: CatalogRecord
  readonly newId: () => string
  readonly staging?: { readonly transactionId: string }
}

const form = /([0-9a-f]{8})-([0-9a-f]{4})-(8[0-9a-f]{3})-a([0-9a-f]{3})-([0-9a-f]{12})\.[^/]*$/

/**
 * A new UUID, of version 8, for the name of an object. It says which catalog at which root wrote the object, and in which
 * transaction. A copy of a catalog that lies elsewhere has another mark, since it does not know all that the original needs.
 */
export function ownObjectId(core: OwnContext): string {
  const transaction = transactionMark(core.staging?.transactionId ?? core.newId())
  const random = createHash('sha256').update(core.newId()).digest('hex')
  const parts = [transaction, random.slice(0, 4), `8${random.slice(4, 7)}`, random.slice(7, 10)] as const
  return `${parts[0]}-${parts[1]}-${parts[2]}-a${parts[3]}-${markOf(core, parts)}`
}

/** The mark of the transaction that wrote an object; undefined if this catalog did not name the object. */
export function transactionMarkIn(core: Pick<OwnContext, 'catalog' | 'contentRoots'>, path: string) {
  const found = form.exec(path)
  if (found === null) return undefined
  const [, transaction, ...rest] = found as unknown as [string, string, string, string, string, string]
  return markOf(core, [transaction, rest[0], rest[1], rest[2]]) === rest[3] ? transaction : undefined
}

/** The mark of a transaction in the names of objects: a hash of its id. */
export function transactionMark(id: string): string {
  return createHash('sha256').update(id).digest('hex').slice(0, 8)
}

function markOf(
  { catalog, contentRoots }: Pick<OwnContext, 'catalog' | 'contentRoots'>,
  parts: readonly string[],
): string {
  const text = [catalog.id, contentRoots[0]!.url, ...parts].join(' ')
  return createHash('sha256').update(text).digest('hex').slice(0, 12)
}
