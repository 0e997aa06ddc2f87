/** A page of a listing, whatever it lists. */
export interface Page<T> {
  readonly items: readonly T[]
  readonly token: string | null | undefined
}

/**
 * Walks a listing to its end: pages of the given limits one after the other, the last limit repeating.
 * `between` runs before every page but the first, and gets the number of pages so far.
 */
export async function walkPages<T>(
  list: (page_token: string | null | undefined, limit: number) => Promise<Page<T>>,
  limits: readonly number[],
  between: (pages: number) => Promise<void> = async () => {},
): Promise<T[][]> {
  const pages: T[][] = []
  let token: string | null | undefined
  do {
    if (pages.length > 0) await between(pages.length)
    const limit = limits[Math.min(pages.length, limits.length - 1)]!
    const page = await list(token, limit)
    if (page.items.length > limit) throw new Error(`A page of ${limit} holds ${page.items.length} items.`)
    if (limit === 0 && page.items.length > 0) throw new Error('A page of none holds items.')
    pages.push([...page.items])
    token = page.token
    if (pages.length > 10_000) throw new Error('The walk does not end.')
  } while (token)
  return pages
}

/** Compares the string forms of identifiers name by name, in the order of their UTF-8 bytes. */
export function bySegments(a: string, b: string): number {
  const [as, bs] = [a.split('$'), b.split('$')]
  for (let i = 0; i < Math.min(as.length, bs.length); i++) {
    const order = Buffer.compare(Buffer.from(as[i]!), Buffer.from(bs[i]!))
    if (order !== 0) return order
  }
  return as.length - bs.length
}

/** Refuses a list whose items do not come strictly one after the other, which also finds repeats. */
export function requireOrder<T>(items: readonly T[], compare: (a: T, b: T) => number): void {
  for (let i = 1; i < items.length; i++) {
    if (compare(items[i - 1]!, items[i]!) >= 0) {
      throw new Error(`${String(items[i - 1])} comes before ${String(items[i])}: ${items.join(' ')}`)
    }
  }
}
