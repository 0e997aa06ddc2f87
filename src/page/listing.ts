export interface Page<T> {
  readonly items: readonly T[]
  readonly token?: string | undefined
}

/** What is known of a listing. */
export interface Pages<T> {
  readonly items: readonly T[]
  /** Continues the listing. */
  readonly token?: string | undefined
  readonly loading: boolean
  /** Whether these are all of its items. */
  readonly ended: boolean
  readonly error?: unknown
}

/** A listing, fetched page by page as `more` is called. `redraw` is called when `pages` became others. */
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

  /** Fetches the next page, unless that is under way, or failed. */
  more(): void {
    const { items, token, loading, ended, error } = this.pages
    if (loading || ended || error !== undefined) return
    const begun = { ...this.pages, loading: true }
    this.#show(begun)
    const end = (pages: Pages<T>) => {
      // What was fetched again meanwhile is no older.
      if (this.pages === begun) this.#show(pages)
    }
    this.#load(token, this.#over.signal).then(
      (page) =>
        end({ items: [...items, ...page.items], token: page.token, loading: false, ended: !page.token }),
      (failure) => end({ ...begun, loading: false, error: failure }),
    )
  }

  /** Fetches as much again as was fetched, and shows it as a whole when it is there. */
  async refresh(): Promise<void> {
    this.#isOld = true
    if (this.#isRefreshing) return
    this.#isRefreshing = true
    while (this.#isOld && !this.#over.signal.aborted) {
      this.#isOld = false
      const begun = performance.now()
      await this.#fetchAgain().catch((error) => this.#show({ ...this.pages, error, loading: false }))
      // A long list is not fetched all the time, however much is changed.
      const rest = 4 * (performance.now() - begun)
      await new Promise((resolve) => setTimeout(resolve, rest))
    }
    this.#isRefreshing = false
  }

  /** Gives up what is under way. Nothing is drawn any more. */
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
