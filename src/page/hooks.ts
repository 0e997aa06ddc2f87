import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { Listing, type Page, type Pages } from './listing.ts'
import { plainText } from './model/text.ts'

/** What is being asked for, came, or failed. */
export interface Loaded<T> {
  readonly value?: T | undefined
  readonly error?: unknown
  readonly loading: boolean
  readonly again: () => void
}

/**
 * Asks when something of `what` changes. What was asked before is given up then, and its answer is not shown any more.
 * When `fresh` alone changes, it asks again without a sign of it, and what is shown stays until the answer is there.
 */
export function useLoaded<T>(
  load: (signal: AbortSignal) => Promise<T>,
  what: readonly unknown[],
  fresh: readonly unknown[] = [],
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
  // Before the effect below, which ends what this would ask: what begins anew is fresh.
  useChanged(JSON.stringify(fresh), () => refresh.current())
  useEffect(() => {
    const controller = new AbortController()
    const { signal } = controller
    let isAsking = false
    let isOld = false
    const ask = async () => {
      isOld = true
      // An answer under way comes first: it would never come if changes were heard of more often than that takes.
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
  // This is drawn before the effect above asks: an answer to something else is none to this.
  const { value, error, loading } = state.key === key ? state : nothing
  return { value, error, loading, again }
}

const nothing = { value: undefined, error: undefined, loading: true }

/** Calls back when a value is another one than it was when last drawn. */
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
  /** Fetches the next page, unless that is under way, or failed. */
  readonly more: () => void
  readonly again: () => void
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
  const current = useRef<{ readonly key: string; readonly listing: Listing<T> }>()
  // Before the effect below, which ends that listing: what begins anew is fresh.
  useChanged(fresh, () => void current.current?.listing.refresh())
  useEffect(() => {
    const listing = new Listing(load, () => draw((times) => times + 1))
    current.current = { key, listing }
    listing.more()
    return () => listing.close()
  }, [key])
  // This is drawn before the effect above begins the next listing: items of the last one are not of this one.
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
 * The row that the keyboard is at, of the list that `what` names. It stays at its item when other items come and go before
 * it, and takes its place when it goes.
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
  // Found before it is drawn: a key that is pressed right then acts on what is shown.
  const active = useMemo(() => {
    if (at === undefined || at.what !== what) return 0
    const item = items[at.row]
    if (at.key === undefined || (item !== undefined && keyOf(item) === at.key)) return at.row
    const row = items.findIndex((other) => keyOf(other) === at.key)
    return row >= 0 ? row : Math.max(0, Math.min(at.row, items.length - 1))
  }, [at, what, items])
  return [active, move]
}

/** Says something to those who hear the page. */
export function announce(text: string): void {
  const place = document.getElementById('status')
  if (place) place.textContent = plainText(text)
}
