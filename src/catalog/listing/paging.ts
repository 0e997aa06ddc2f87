import { CatalogError } from '../../base/errors.ts'
import { limits } from '../../base/model/fields.ts'
import {
  defaultDelimiter,
  formatIdentifier,
  type Identifier,
  quote,
  sameNames,
} from '../../base/model/identifier.ts'
import { openPageToken, type Position, sealPageToken } from '../../base/model/page-token.ts'
import { type CatalogRecord, keys } from '../../base/store/records.ts'
import type { Entry, Key, Reader, Store, Value } from '../../base/store/store.ts'
import { childrenAfter, isTableNext, NameCursor } from './children.ts'

/** What a page needs of its catalog. */
interface PagingContext {
  readonly store: Store
  /** Its secret seals page tokens. */
  readonly catalog: CatalogRecord
}

/** The request for one page: what the page token is bound to, and the page itself. */
export interface ListingRequest {
  /** The parameters of the listing. A token is valid only for requests with the same parameters. */
  readonly listing: readonly unknown[]
  readonly page_token?: string | null | undefined
  readonly limit?: number | null | undefined
}

/**
 * About how many characters the items of a page take at most. A page has one item at least, however large. More would
 * keep others waiting while it is written.
 */
const pageCharacters = 4 << 20

/** About how many characters a value takes as JSON. */
export function charactersOf(value: unknown): number {
  if (typeof value === 'string') return value.length + 3
  if (typeof value !== 'object' || value === null) return 8
  let sum = 2
  if (Array.isArray(value)) {
    for (const item of value) sum += charactersOf(item)
    return sum
  }
  for (const name in value) sum += name.length + 4 + charactersOf((value as Record<string, unknown>)[name])
  return sum
}

/** The items of a page, up to a number of them and to a number of characters. */
export class PageItems<T> {
  readonly items: T[] = []
  readonly #size: number
  #characters = 0

  constructor(size: number) {
    this.#size = size
  }

  /** Adds an item; false when the page is full without it. */
  add(item: T): boolean {
    if (this.items.length === this.#size) return false
    this.#characters += charactersOf(item)
    if (this.#characters > pageCharacters && this.items.length > 0) return false
    this.items.push(item)
    return true
  }
}

/** The items of one page, and the position of the next page if more items follow. */
export interface Page<T> {
  readonly items: readonly T[]
  readonly next?: Position
}

/** Reads at most `size` items after a position; undefined is the start. */
type Read<T> = (reader: Reader, after: Position | undefined, size: number) => Page<T>

/** Decides which items of a page to keep, where that takes more than one read of the store. */
export interface PageFilter<T> {
  readonly keep: (items: readonly T[]) => Promise<readonly T[]>
  /** A page ends early, with a token, after this many dropped items. */
  readonly maxDropped: number
}

/**
 * Reads one page with `read`, and drops the items that `filter` does not keep. The result has a page token when
 * more items follow.
 */
export async function readPage<T>(
  core: PagingContext,
  asked: ListingRequest,
  read: Read<T>,
  filter?: PageFilter<T>,
): Promise<{ items: readonly T[]; page_token?: string }> {
  const bound = JSON.stringify(asked.listing)
  const after = openPageToken(core.catalog.secret, bound, asked.page_token)
  const size = Math.min(asked.limit ?? limits.defaultPage, limits.page)
  const page = filter
    ? await filteredPage(core, read, filter, after, size)
    : await core.store.read((reader) => read(reader, after, size))
  if (page.next === undefined) return { items: page.items }
  return { items: page.items, page_token: sealPageToken(core.catalog.secret, bound, page.next) }
}

/** How many items are read at a time to learn whether another page follows. */
const peekSize = 100

async function filteredPage<T>(
  core: PagingContext,
  read: Read<T>,
  { keep, maxDropped }: PageFilter<T>,
  start: Position | undefined,
  size: number,
): Promise<Page<T>> {
  const items: T[] = []
  let characters = 0
  let after = start
  /** Set once this page is full. */
  let next: Position | undefined
  for (let dropped = 0; dropped <= maxDropped; ) {
    const page = await core.store.read((reader) => read(reader, after, next ? peekSize : size - items.length))
    const kept = await keep(page.items)
    if (next && kept.length > 0) return { items, next }
    for (const item of kept) {
      items.push(item)
      characters += charactersOf(item)
    }
    if (page.next === undefined) return { items }
    dropped += page.items.length - kept.length
    after = page.next
    if (items.length === size || characters > pageCharacters) next ??= after
  }
  return { items, next: next ?? after! }
}

/** A page ends early, with a token, after this many entries that are not listed. */
const idleLimit = 10_000

/**
 * One page of the entries under `prefix`. The part of the key behind the prefix is the position; `last` is the highest one
 * of numbers.
 */
export function pageOfEntries<V extends Value, T>(
  reader: Reader,
  {
    prefix,
    reverse = false,
    last: highest,
  }: { readonly prefix: Key; readonly reverse?: boolean; readonly last?: number | undefined },
  after: Position | undefined,
  size: number,
  item: (entry: Entry<V>) => T | undefined,
): Page<T> {
  const page = new PageItems<T>(size)
  const last = after?.[0]
  let position: Position = after ?? []
  let idle = 0
  const end = highest === undefined ? {} : { end: [...prefix, highest + 1] }
  for (const entry of reader.range<V>({ prefix, reverse, ...end, ...boundAfter(prefix, last, reverse) })) {
    const made = item(entry)
    const here = [entry.key[prefix.length]!]
    if (made === undefined) {
      if (++idle > idleLimit) return { items: page.items, next: here }
    } else if (!page.add(made)) {
      return { items: page.items, next: position }
    }
    position = here
  }
  return { items: page.items }
}

function boundAfter(prefix: Key, last: string | number | undefined, reverse: boolean) {
  if (last === undefined) return {}
  // A key sorts right before the longer keys that begin with it, so no key lies between `last` and this bound.
  return reverse ? { end: [...prefix, last] } : { start: [...prefix, last, 0] }
}

/** One page of the names that follow `prefix` in keys. A name without an `item` is left out. */
export function pageOfNames<T>(
  reader: Reader,
  prefix: Key,
  after: Position | undefined,
  size: number,
  item: (name: string) => T | undefined,
): Page<T> {
  const page = new PageItems<T>(size)
  let position: Position = after ?? []
  let idle = 0
  const names = new NameCursor(reader, prefix, after?.[0] as string | undefined, Math.max(size + 1, 32))
  for (let name = names.take(); name !== undefined; name = names.take()) {
    const made = item(name)
    if (made === undefined) {
      if (++idle > idleLimit) return { items: page.items, next: [name] }
    } else if (!page.add(made)) {
      return { items: page.items, next: position }
    }
    position = [name]
  }
  return { items: page.items }
}

/**
 * One page of all tables in a namespace and below it, in the order of their names. `item` gets a table's
 * identifier and the internal id of its namespace, and returns undefined for a table to leave out. The cost is that
 * of the page: many empty namespaces make a page short, not slow.
 */
export function pageOfTables(
  reader: Reader,
  namespace: { readonly id: string; readonly path: Identifier },
  after: Position | undefined,
  size: number,
  item: (path: Identifier, parent: string) => Identifier | undefined,
): Page<Identifier> {
  const page = new PageItems<Identifier>(size)
  let last: Identifier | undefined
  let entered = false
  let idle = 0
  const visit: Visit = (path, isTable, parent) => {
    const listed = isTable ? item(path, parent) : undefined
    if (listed !== undefined) {
      if (!page.add(listed)) return true
    } else if (++idle > idleLimit) {
      return true
    }
    last = path
    entered = !isTable
    return false
  }
  const start = after as Identifier | undefined
  const isFull = walk(reader, namespace.id, namespace.path, start, Math.max(size + 1, 32), visit)
  const { items } = page
  if (!isFull) return { items }
  if (last === undefined) return { items, next: after ?? [] }
  const relative = last.slice(namespace.path.length)
  // The empty name means that the walk entered the last namespace and has seen nothing of it yet.
  return { items, next: entered ? [...relative, ''] : relative }
}

type Visit = (path: Identifier, isTable: boolean, parent: string) => boolean

/**
 * Visits tables and namespaces until `visit` returns true, and returns whether it did. A namespace comes before
 * its content. This is not a generator: at depth, every item would pass through one generator for each level.
 */
function walk(
  reader: Reader,
  parent: string,
  path: Identifier,
  after: Identifier | undefined,
  batchSize: number,
  visit: Visit,
): boolean {
  const enter = (name: string, rest: Identifier | undefined): boolean => {
    const namespace = reader.get<string>(keys.namespaceName(parent, name))
    return namespace !== undefined && walk(reader, namespace, [...path, name], rest, batchSize, visit)
  }
  const [first, ...rest] = after ?? []
  if (first !== undefined && rest.length > 0 && enter(first, rest)) return true
  const children = childrenAfter(reader, parent, first, batchSize)
  for (;;) {
    while (isTableNext(children)) {
      if (visit([...path, children.tables.take()!], true, parent)) return true
    }
    const namespace = children.namespaces.take()
    if (namespace === undefined) return false
    if (visit([...path, namespace], false, parent) || enter(namespace, undefined)) return true
  }
}

/** Joins an identifier for a listing. Refuses a delimiter that occurs in a name: the result would be ambiguous. */
export function joinIdentifier(id: Identifier, delimiter: string): string {
  // The loop takes a third of the time of `join`, and a page joins hundreds of identifiers.
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
