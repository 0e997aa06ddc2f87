export interface Page<T> {
  readonly items: readonly T[]
  readonly token?: string | undefined
}

/** The fetched part of a listing. */
export interface Pages<T> {
  readonly items: readonly T[]
  /** The page token that continues the listing. */
  readonly token?: string | undefined
  readonly loading: boolean
  /** Whether all items are fetched. */
  readonly ended: boolean
  readonly error?: unknown
}

/** A listing, fetched page by page as `more` is called. Calls `redraw` after each change of `pages`. */
export class Listing<T> {
  pages: Pages<T> = { items: [], loading: false, ended: false }
  readonly #load: (token: string | undefined, signal: AbortSignal) => Promise<Page<T>>
  readonly #redraw: () => void
  readonly #over = new AbortController()
  #isRefreshing = false
  #isOld = false

  constructor(
    load: (token: string | undefined, signal: AbortSignal) => Promise<Page<T>>,
    redraw: () => void,
  ) {
    this.#load = load
    this.#redraw = redraw
  }

  /** Fetches the next page, unless a fetch is running or has failed. */
  more(): void {
    const { items, token, loading, ended, error } = this.pages
    if (loading || ended || error !== undefined) return
    const pending = { ...this.pages, loading: true }
    this.#show(pending)
    const end = (pages: Pages<T>) => {
      // Drops the page if a refresh has replaced `pages`, which is as recent.
      if (this.pages === pending) this.#show(pages)
    }
    this.#load(token, this.#over.signal).then(
      (page) =>
        end({ items: [...items, ...page.items], token: page.token, loading: false, ended: !page.token }),
      (failure) => end({ ...pending, loading: false, error: failure }),
    )
  }

  /** Fetches as many items again, and replaces the old ones at once. */
  async refresh(): Promise<void> {
    this.#isOld = true
    if (this.#isRefreshing) return
    this.#isRefreshing = true
    while (this.#isOld && !this.#over.signal.aborted) {
      this.#isOld = false
      const started = performance.now()
      await this.#fetchAgain().catch((error) => this.#show({ ...this.pages, error, loading: false }))
      // Pauses, so that a long list is fetched at most a fifth of the time.
      const rest = 4 * (performance.now() - started)
      await new Promise((resolve) => setTimeout(resolve, rest))
    }
    this.#isRefreshing = false
  }

  /** Aborts running fetches. Later results are ignored. */
  close(): void {
    this.#over.abort()
  }

  async #fetchAgain(): Promise<void> {
    const items: T[] = []
    let token: string | undefined
    do {
      const page = await this.#load(token, this.#over.signal)
      for (const item of page.items) items.push(item)
      token = page.token
    } while (token && items.length < this.pages.items.length)
    const wanted = this.pages.loading
    this.#show({ items, token, loading: false, ended: !token })
    if (wanted) this.more()
  }

  #show(pages: Pages<T>): void {
    if (this.#over.signal.aborted) return
    this.pages = pages
    this.#redraw()
  }
}
