import { quote } from '../../base/model/identifier.ts'
import { illegalArgument } from '../errors.ts'

/** Which part of a listing a request asks for. */
export interface AskedPage {
  /** Empty for the first page. Undefined asks for the whole listing in one answer, whatever the size. */
  readonly token: string | undefined
  /** The most results of a page. Undefined leaves it to the server. */
  readonly size: number | undefined
}

/** No client reads larger numbers than this one: it is Java's largest integer. */
const largestSize = 2 ** 31 - 1

/**
 * The page that the parameters `pageToken` and `pageSize` ask for. As the specification says, a request without
 * `pageToken` gets all results, and an empty one begins a listing in pages.
 *
 * Fails with status 400 for a size that is no whole number from 1, and for a parameter that is there twice.
 *
 * ```ts
 * pageOf(new URLSearchParams('pageToken=&pageSize=100')) // { token: '', size: 100 }
 * ```
 */
export function pageOf(query: URLSearchParams): AskedPage {
  const size = single(query, 'pageSize')
  return { token: single(query, 'pageToken'), size: size === undefined ? undefined : sizeOf(size) }
}

function single(query: URLSearchParams, name: string): string | undefined {
  const values = query.getAll(name)
  if (values.length > 1)
    throw illegalArgument(`Invalid ${name}: there are ${values.length} of them. Give it once.`)
  return values[0]
}

function sizeOf(text: string): number {
  const size = /^\d{1,10}$/.test(text) ? Number(text) : 0
  if (size >= 1 && size <= largestSize) return size
  throw illegalArgument(`Invalid pageSize: ${quote(text)}. Give a whole number from 1 to ${largestSize}.`)
}

/**
 * The member of a listing's answer that leads to the next page. It is null on the last page and for a whole listing,
 * and never left out: a server that leaves it out says that it knows no pages.
 *
 * ```ts
 * return { identifiers, ...nextPage(next) }
 * ```
 */
export function nextPage(token: string | undefined): { readonly 'next-page-token': string | null } {
  // An empty token would begin the listing again.
  return { 'next-page-token': token === '' ? null : (token ?? null) }
}

/** Names of one page of the catalog. */
interface NamesPage {
  readonly names: readonly string[]
  readonly next: string | undefined
}

/** Most names that a client gets who asks for no pages. */
const mostNames = 100_000
/** Most names that the catalog lists at once. */
const mostAtOnce = 10_000

/** The names of the page that is asked for, or of all pages. `read` reads a page of the catalog. */
export async function namesOf(
  { token, size }: AskedPage,
  read: (page: { readonly page_token?: string; readonly limit: number }) => Promise<NamesPage>,
): Promise<NamesPage> {
  const limit = Math.min(size ?? mostAtOnce, mostAtOnce)
  if (token !== undefined) return read({ ...(token !== '' && { page_token: token }), limit })
  const names: string[] = []
  for (let next: string | undefined; ; ) {
    const page = await read({ ...(next !== undefined && { page_token: next }), limit: mostAtOnce })
    for (const name of page.names) names.push(name)
    next = page.next
    if (next === undefined) return { names, next }
    if (names.length > mostNames)
      throw illegalArgument(
        `Invalid listing: more than ${mostNames} names at once. Ask for pages, with pageToken.`,
      )
  }
}
