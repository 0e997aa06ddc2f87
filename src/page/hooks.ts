import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { plainText } from './model/text.ts'

/** What is being asked for, came, or failed. An older answer stays in sight until the next one is there. */
export interface Loaded<T> {
  readonly value?: T | undefined
  readonly error?: unknown
  readonly loading: boolean
  readonly again: () => void
}

/** Asks when something of `what` changes. What was asked before is given up then. */
export function useLoaded<T>(load: (signal: AbortSignal) => Promise<T>, what: readonly unknown[]): Loaded<T> {
  const [state, setState] = useState<Omit<Loaded<T>, 'again'>>({ loading: true })
  const [round, setRound] = useState(0)
  const again = useCallback(() => setRound((before) => before + 1), [])
  useEffect(() => {
    const controller = new AbortController()
    setState((before) => ({ value: before.value, loading: true }))
    load(controller.signal).then(
      (value) => !controller.signal.aborted && setState({ value, loading: false }),
      (error) => !controller.signal.aborted && setState({ error, loading: false }),
    )
    return () => controller.abort()
  }, [...what, round])
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

/** A listing, fetched page by page as `more` is called. It begins anew when something of `what` changes. */
export function usePaged<T>(
  load: (token: string | undefined, signal: AbortSignal) => Promise<Page<T>>,
  what: readonly unknown[],
): Paged<T> {
  const [, draw] = useState(0)
  const [round, setRound] = useState(0)
  const current = useRef<{ pages: Pages<T>; more: () => void }>()
  useEffect(() => {
    const controller = new AbortController()
    const { signal } = controller
    const pages: Pages<T> = { items: [], token: undefined, loading: false, ended: false, error: undefined }
    const redraw = () => draw((times) => times + 1)
    const more = () => {
      if (pages.loading || pages.ended || pages.error !== undefined) return
      pages.loading = true
      redraw()
      load(pages.token, signal).then(
        ({ items, token }) => {
          if (signal.aborted) return
          for (const item of items) pages.items.push(item)
          Object.assign(pages, { token, ended: !token, loading: false })
          redraw()
        },
        (error) => {
          if (signal.aborted) return
          Object.assign(pages, { error, loading: false })
          redraw()
        },
      )
    }
    current.current = { pages, more }
    more()
    return () => controller.abort()
  }, [...what, round])
  const pages = current.current?.pages
  return {
    items: pages?.items ?? [],
    hasMore: pages === undefined || !pages.ended,
    loading: pages?.loading ?? true,
    error: pages?.error,
    more: () => current.current?.more(),
    again: () => setRound((before) => before + 1),
  }
}

/** Says something to those who hear the page. */
export function announce(text: string): void {
  const place = document.getElementById('status')
  if (place) place.textContent = plainText(text)
}
