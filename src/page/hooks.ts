import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { plainText } from './model/text.ts'

/** What is being asked for, came, or failed. An older answer stays in sight until the next one is there. */
export interface Loaded<T> {
  readonly value?: T | undefined
  readonly error?: unknown
  readonly loading: boolean
  readonly again: () => void
}

/**
 * Asks when something of `what` changes. What was asked before is given up then. When `fresh` alone changes, it asks
 * again without a sign of it, and what is shown stays until the answer is there.
 */
export function useLoaded<T>(
  load: (signal: AbortSignal) => Promise<T>,
  what: readonly unknown[],
  fresh = 0,
): Loaded<T> {
  const [state, setState] = useState<Omit<Loaded<T>, 'again'>>({ loading: true })
  const [round, setRound] = useState(0)
  const again = useCallback(() => setRound((before) => before + 1), [])
  const shown = useRef<string>()
  useEffect(() => {
    const controller = new AbortController()
    const key = JSON.stringify([...what, round])
    if (shown.current !== key) setState((before) => ({ value: before.value, loading: true }))
    shown.current = key
    load(controller.signal).then(
      (value) => !controller.signal.aborted && setState({ value, loading: false }),
      (error) => !controller.signal.aborted && setState({ error, loading: false }),
    )
    return () => controller.abort()
  }, [...what, round, fresh])
  return { ...state, again }
}

export interface Page<T> {
  readonly items: readonly T[]
  readonly token?: string | undefined
}

export interface Paged<T> {
  readonly items: readonly T[]
  readonly hasMore: boolean
  readonly loading: boolean
  readonly error?: unknown
  /** Fetches the next page, unless that is under way, or failed. */
  readonly more: () => void
  readonly again: () => void
}

interface Pages<T> {
  readonly items: T[]
  token: string | undefined
  loading: boolean
  ended: boolean
  error: unknown
}

/**
 * A listing, fetched page by page as `more` is called. It begins anew, and empty, when something of `what` changes. When
 * `fresh` alone changes, as much as was fetched is fetched again, and takes the place of it as a whole.
 */
export function usePaged<T>(
  load: (token: string | undefined, signal: AbortSignal) => Promise<Page<T>>,
  what: readonly unknown[],
  fresh = 0,
): Paged<T> {
  const [, draw] = useState(0)
  const [round, setRound] = useState(0)
  const key = JSON.stringify([...what, round])
  const current = useRef<{ key: string; pages: Pages<T>; more: () => void; refresh: () => Promise<void> }>()
  useEffect(() => {
    const controller = new AbortController()
    const { signal } = controller
    const redraw = () => draw((times) => times + 1)
    const more = () => {
      const { pages } = self
      if (pages.loading || pages.ended || pages.error !== undefined) return
      pages.loading = true
      redraw()
      load(pages.token, signal).then(
        ({ items, token }) => {
          if (signal.aborted || pages !== self.pages) return
          for (const item of items) pages.items.push(item)
          Object.assign(pages, { token, ended: !token, loading: false })
          redraw()
        },
        (error) => {
          if (signal.aborted || pages !== self.pages) return
          Object.assign(pages, { error, loading: false })
          redraw()
        },
      )
    }
    const fetchAgain = async () => {
      const items: T[] = []
      let token: string | undefined
      do {
        const page = await load(token, signal)
        for (const item of page.items) items.push(item)
        token = page.token
      } while (token && items.length < self.pages.items.length)
      if (signal.aborted) return
      const wanted = self.pages.loading
      self.pages = { items, token, loading: false, ended: !token, error: undefined }
      redraw()
      if (wanted) more()
    }
    let isRefreshing = false
    let isOld = false
    const refresh = async () => {
      isOld = true
      if (isRefreshing) return
      isRefreshing = true
      while (isOld && !signal.aborted) {
        isOld = false
        const begun = performance.now()
        await fetchAgain().catch((error) => {
          if (signal.aborted) return
          self.pages = { ...self.pages, error, loading: false }
          redraw()
        })
        // A long list is not fetched all the time, however much is changed.
        const rest = 4 * (performance.now() - begun)
        await new Promise((resolve) => setTimeout(resolve, rest))
      }
      isRefreshing = false
    }
    const self = { key, pages: emptyPages<T>(), more, refresh }
    current.current = self
    more()
    return () => controller.abort()
  }, [key])
  const known = useRef(fresh)
  useEffect(() => {
    if (known.current === fresh) return
    known.current = fresh
    void current.current?.refresh()
  }, [fresh])
  // This is drawn before the effect above begins the next listing: items of the last one are not of this one.
  const listing = current.current?.key === key ? current.current : undefined
  const pages = listing?.pages
  return {
    items: pages?.items ?? [],
    hasMore: pages === undefined || !pages.ended,
    loading: pages?.loading ?? true,
    error: pages?.error,
    more: () => listing?.more(),
    again: () => setRound((before) => before + 1),
  }
}

function emptyPages<T>(): Pages<T> {
  return { items: [], token: undefined, loading: false, ended: false, error: undefined }
}

/** The row that the keyboard is at. It stays at its item when other items come and go before it. */
export function useActiveRow<T>(
  items: readonly T[],
  keyOf: (item: T) => string,
  identity: unknown = items,
): [number, (row: number) => void] {
  const [active, setActive] = useState(0)
  const key = useRef<string>()
  const keyAt = (row: number) => (items[row] === undefined ? undefined : keyOf(items[row]))
  useEffect(() => {
    if (key.current === undefined || keyAt(active) === key.current) return
    const row = items.findIndex((item) => keyOf(item) === key.current)
    if (row >= 0) setActive(row)
  }, [identity])
  const move = (row: number) => {
    key.current = keyAt(row)
    setActive(row)
  }
  return [active, move]
}

/** Says something to those who hear the page. */
export function announce(text: string): void {
  const place = document.getElementById('status')
  if (place) place.textContent = plainText(text)
}
