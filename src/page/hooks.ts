import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { Listing, type Page, type Pages } from './listing.ts'
import { formatRoute, type Route } from './model/route.ts'
import { plainText } from './model/text.ts'
import type { RefreshCounters } from './refresh-counters.ts'

/** The state of a request. */
export interface Loaded<T> {
  readonly value?: T | undefined
  readonly error?: unknown
  readonly loading: boolean
  readonly again: () => void
}

/**
 * Loads when `what` changes. Then it aborts the previous load and drops its value. When only `reloadKeys` changes, it
 * reloads without an indicator and keeps the previous value until the new one is there.
 */
export function useLoaded<T>(
  load: (signal: AbortSignal) => Promise<T>,
  what: readonly unknown[],
  reloadKeys: readonly unknown[] = [],
): Loaded<T> {
  const key = JSON.stringify(what)
  const [state, setState] = useState<Omit<Loaded<T>, 'again'> & { readonly key: string }>({
    key,
    loading: true,
  })
  const [round, setRound] = useState(0)
  const again = useCallback(() => setRound((before) => before + 1), [])
  const latest = useRef(load)
  latest.current = load
  const refresh = useRef(() => {})
  // Runs before the effect below, which aborts this refresh when `what` changes too.
  useChanged(JSON.stringify(reloadKeys), () => refresh.current())
  useEffect(() => {
    const controller = new AbortController()
    const { signal } = controller
    let isAsking = false
    let isOld = false
    const ask = async () => {
      isOld = true
      // Lets a running load finish. Otherwise none would finish while changes come faster than loads take.
      if (isAsking) return
      isAsking = true
      while (isOld && !signal.aborted) {
        isOld = false
        await latest.current(signal).then(
          (value) => !signal.aborted && setState({ key, value, loading: false }),
          (error) => !signal.aborted && setState({ key, error, loading: false }),
        )
      }
      isAsking = false
    }
    refresh.current = ask
    setState((before) => ({ key, value: before.key === key ? before.value : undefined, loading: true }))
    void ask()
    return () => controller.abort()
  }, [key, round])
  // Rendering precedes the effect above, so `state` may still be of another `key`.
  const { value, error, loading } = state.key === key ? state : nothing
  return { value, error, loading, again }
}

const nothing = { value: undefined, error: undefined, loading: true }

/** Calls back when a value differs from that of the last render. */
export function useChanged(value: unknown, changed: () => void): void {
  const known = useRef(value)
  useEffect(() => {
    if (known.current === value) return
    known.current = value
    changed()
  }, [value])
}

export interface Paged<T> {
  readonly items: readonly T[]
  readonly hasMore: boolean
  readonly loading: boolean
  readonly error?: unknown
  /** Fetches the next page, unless a fetch is running or has failed. */
  readonly more: () => void
  readonly again: () => void
}

/**
 * A listing, fetched page by page as `more` is called. It restarts, empty, when `what` changes. When only `reloadKey`
 * changes, it fetches as many items again and replaces the old ones at once.
 */
export function usePaged<T>(
  load: (token: string | undefined, signal: AbortSignal) => Promise<Page<T>>,
  what: readonly unknown[],
  reloadKey = 0,
): Paged<T> {
  const [, draw] = useState(0)
  const [round, setRound] = useState(0)
  const key = JSON.stringify([...what, round])
  const current = useRef<{ readonly key: string; readonly listing: Listing<T> }>()
  // Runs before the effect below, which closes this listing when `what` changes too.
  useChanged(reloadKey, () => void current.current?.listing.refresh())
  useEffect(() => {
    const listing = new Listing(load, () => draw((times) => times + 1))
    current.current = { key, listing }
    listing.more()
    return () => listing.close()
  }, [key])
  // Rendering precedes the effect above, so `current` may still be the previous listing.
  const listing = current.current?.key === key ? current.current.listing : undefined
  const { items, ended, loading, error }: Pages<T> = listing?.pages ?? notBegun
  return {
    items,
    hasMore: !ended,
    loading,
    error,
    more: () => listing?.more(),
    again: () => setRound((before) => before + 1),
  }
}

const notBegun = { items: [], ended: false, loading: true }

/**
 * The active row of the list `what`, and its setter. The row follows its item when items before it come and go. When
 * the item itself goes, the index stays.
 */
export function useActiveRow<T>(
  items: readonly T[],
  keyOf: (item: T) => string,
  what = '',
): [number, (row: number) => void] {
  const [at, setAt] = useState<{ readonly what: string; readonly row: number; readonly key?: string }>()
  const move = (row: number) => {
    const item = items[row]
    setAt({ what, row, ...(item !== undefined && { key: keyOf(item) }) })
  }
  // Computed during rendering, so that a key press acts on what is shown.
  const active = useMemo(() => {
    if (at === undefined || at.what !== what) return 0
    const item = items[at.row]
    if (at.key === undefined || (item !== undefined && keyOf(item) === at.key)) return at.row
    const row = items.findIndex((other) => keyOf(other) === at.key)
    return row >= 0 ? row : Math.max(0, Math.min(at.row, items.length - 1))
  }, [at, what, items])
  return [active, move]
}

/** Announces a text to screen readers. */
export function announce(text: string): void {
  const region = document.getElementById('status')
  if (region) region.textContent = plainText(text)
}

/** Navigates at once. The browser fires `hashchange` later, and a key press before it would act on the old view. */
export function navigate(route: Route): void {
  location.hash = formatRoute(route)
  window.dispatchEvent(new Event('hashchange'))
}

export interface ViewProps {
  /** Counts changes by this page. A higher count triggers a reload. */
  readonly revision: number
  /** Counts changes from the stream. */
  readonly counters: RefreshCounters
  readonly changed: () => void
}
