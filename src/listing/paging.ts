import type { Core } from '../catalog/core.ts'
import { CatalogError, invalid } from '../errors.ts'
import { limits } from '../model/fields.ts'
import { defaultDelimiter, formatIdentifier, type Identifier, quote, sameNames } from '../model/identifier.ts'
import { openPageToken, type Position, sealPageToken } from '../model/page-token.ts'
import { keys } from '../store/records.ts'
import type { Entry, Key, Reader, Value } from '../store/store.ts'
import { childrenAfter, isTableNext, Names } from './children.ts'

/** What a listing was asked for: all that a page token is bound to, and the page itself. */
export interface Asked {
  /** Everything but the page: a token serves only requests that are alike in this. */
  readonly listing: readonly unknown[]
  readonly page_token?: string | null | undefined
  readonly limit?: number | null | undefined
}

/** Items of one page, and where the next one starts when there is one. */
export interface Page<T> {
  readonly items: readonly T[]
  readonly next?: Position
}

/** Reads items after a position (undefined at the start), at most so many. */
type Read<T> = (reader: Reader, after: Position | undefined, size: number) => Page<T>

/** What cannot be decided within a read: which of the items to keep. */
export interface Sieve<T> {
  readonly keep: (items: readonly T[]) => Promise<readonly T[]>
  /** How many items may fall through before a page ends early, with a token. */
  readonly patience: number
}

/**
 * Reads one page: `read` gets the position to go on after (undefined at the start) and how many items fit.
 * The answer holds the items, those that the sieve keeps if there is one, and, when there is more, the token
 * to ask for it.
 */
export async function readPage<T>(
  core: Core,
  asked: Asked,
  read: Read<T>,
  sieve?: Sieve<T>,
): Promise<{ items: readonly T[]; page_token?: string }> {
  const bound = JSON.stringify(asked.listing)
  const after = openPageToken(core.catalog.secret, bound, asked.page_token)
  const size = Math.min(asked.limit ?? limits.defaultPage, limits.page)
  const page = sieve
    ? await siftedPage(core, read, sieve, after, size)
    : await core.store.read((reader) => read(reader, after, size))
  if (page.next === undefined) return { items: page.items }
  return { items: page.items, page_token: sealPageToken(core.catalog.secret, bound, page.next) }
}

/** How many items are looked at together to learn whether there is another page. */
const peeked = 100

async function siftedPage<T>(
  core: Core,
  read: Read<T>,
  { keep, patience }: Sieve<T>,
  start: Position | undefined,
  size: number,
): Promise<Page<T>> {
  const items: T[] = []
  let after = start
  /** Where the next page starts, once this one is full. */
  let next: Position | undefined
  for (let fallen = 0; fallen <= patience; ) {
    const page = await core.store.read((reader) => read(reader, after, next ? peeked : size - items.length))
    const kept = await keep(page.items)
    if (next && kept.length > 0) return { items, next }
    items.push(...kept)
    if (page.next === undefined) return { items }
    fallen += page.items.length - kept.length
    after = page.next
    if (items.length === size) next ??= after
  }
  return { items, next: next ?? after! }
}

/** One page of the entries under `prefix`, told apart by the part of the key that follows it. */
export function pageOfEntries<V extends Value, T>(
  reader: Reader,
  prefix: Key,
  after: Position | undefined,
  size: number,
  item: (entry: Entry<V>) => T | undefined,
  reverse = false,
): Page<T> {
  const items: T[] = []
  const last = after?.[0]
  let position: Position = after ?? []
  for (const entry of reader.range<V>({ prefix, reverse, ...boundAfter(prefix, last, reverse) })) {
    const made = item(entry)
    if (made === undefined) continue
    if (items.length === size) return { items, next: position }
    items.push(made)
    position = [entry.key[prefix.length]!]
  }
  return { items }
}

function boundAfter(prefix: Key, last: string | number | undefined, reverse: boolean) {
  if (last === undefined) return {}
  // A key comes right before the longer keys that begin with it, so this bound is the nearest one after it.
  return reverse ? { end: [...prefix, last] } : { start: [...prefix, last, 0] }
}

/** One page of the names that follow `prefix` in keys; `item` says what to list for a name, if anything. */
export function pageOfNames<T>(
  reader: Reader,
  prefix: Key,
  after: Position | undefined,
  size: number,
  item: (name: string) => T | undefined,
): Page<T> {
  const items: T[] = []
  let position: Position = after ?? []
  const names = new Names(reader, prefix, after?.[0] as string | undefined, Math.max(size + 1, 32))
  for (let name = names.take(); name !== undefined; name = names.take()) {
    const made = item(name)
    if (made === undefined) continue
    if (items.length === size) return { items, next: position }
    items.push(made)
    position = [name]
  }
  return { items }
}

/** How many entries without a table in them a page looks at before it ends early, with a token. */
const idleLimit = 10_000

/**
 * One page of all tables at and below a namespace that `item` says are listed, in segment order. `item` gets a
 * table's identifier, from the root on, and the internal id of its namespace. The cost is that of the page: a
 * stretch of empty namespaces makes pages short rather than slow.
 */
export function pageOfTables(
  reader: Reader,
  namespace: { readonly id: string; readonly path: Identifier },
  after: Position | undefined,
  size: number,
  item: (path: Identifier, parent: string) => Identifier | undefined,
): Page<Identifier> {
  const items: Identifier[] = []
  let last: Identifier | undefined
  let entered = false
  let idle = 0
  const visit: Visit = (path, isTable, parent) => {
    const listed = isTable ? item(path, parent) : undefined
    if (listed !== undefined) {
      if (items.length === size) return true
      items.push(listed)
    } else if (++idle > idleLimit) {
      return true
    }
    last = path
    entered = !isTable
    return false
  }
  const start = after as Identifier | undefined
  const isFull = walk(reader, namespace.id, namespace.path, start, Math.max(size + 1, 32), visit)
  if (!isFull) return { items }
  if (last === undefined) return { items, next: after ?? [] }
  const relative = last.slice(namespace.path.length)
  // The empty name says: entered, with nothing in it seen yet.
  return { items, next: entered ? [...relative, ''] : relative }
}

type Visit = (path: Identifier, isTable: boolean, parent: string) => boolean

/**
 * Visits tables and namespaces, a namespace before what is in it, until `visit` answers true; says whether it
 * did. `visit` gets the identifier and the internal id of the namespace it is in. No generator, since a listing
 * at depth would go through one more of them at each level.
 */
function walk(
  reader: Reader,
  parent: string,
  path: Identifier,
  after: Identifier | undefined,
  atOnce: number,
  visit: Visit,
): boolean {
  const enter = (name: string, rest: Identifier | undefined): boolean => {
    const namespace = reader.get<string>(keys.namespaceName(parent, name))
    return namespace !== undefined && walk(reader, namespace, [...path, name], rest, atOnce, visit)
  }
  const [first, ...rest] = after ?? []
  if (first !== undefined && rest.length > 0 && enter(first, rest)) return true
  const children = childrenAfter(reader, parent, first, atOnce)
  for (;;) {
    while (isTableNext(children)) {
      if (visit([...path, children.tables.take()!], true, parent)) return true
    }
    const namespace = children.namespaces.take()
    if (namespace === undefined) return false
    if (visit([...path, namespace], false, parent) || enter(namespace, undefined)) return true
  }
}

/** Joins identifiers for a listing, refusing those that could not be told apart afterwards. */
export function joinIdentifier(id: Identifier, delimiter: string): string {
  // Joining by hand takes a third of the time, of which a page of a hundred has a hundred.
  let joined = id.length > 0 ? id[0]! : ''
  for (let i = 1; i < id.length; i++) joined += delimiter + id[i]!
  if (delimiter !== defaultDelimiter && !sameNames(joined.split(delimiter), id)) {
    throw new CatalogError(
      'InvalidInput',
      `The delimiter ${quote(delimiter)} occurs in a listed name (${formatIdentifier(id)}); choose another delimiter, such as '${defaultDelimiter}'.`,
    )
  }
  return joined
}

/** The delimiter of a request: `$`, or 1 to 8 characters of the caller's choice. */
export function checkDelimiter(delimiter: string | null | undefined): string {
  if (delimiter == null) return defaultDelimiter
  if (delimiter.length < 1 || [...delimiter].length > 8)
    throw invalid('delimiter must be 1 to 8 characters long.')
  return delimiter
}
