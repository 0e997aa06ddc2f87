import { useEffect, useRef, useState } from 'preact/hooks'
import type { Identifier } from '../base/model/identifier.ts'
import { followChanges } from './feed.ts'
import { type CommittedChange, concernedBy } from './model/concerns.ts'
import type { Place } from './model/place.ts'

/** Counters: when one rises, what it is for may have changed, and is fetched again. */
export interface Fresh {
  readonly namespaces: number
  readonly tables: number
  readonly open: number
  /** The latest changes that were heard of, latest first. */
  readonly latest: readonly CommittedChange[]
}

const mostLatest = 100
/** The least time between two times of fetching again, in milliseconds, however much is committed. */
const restMillis = 3_000
const firstMillis = 150

const every = { namespaces: true, tables: true, open: true }

/** Hears of changes for as long as there is a caller, and tells which parts of the page they concern. */
export function useFresh(place: Place, listed: Identifier, caller: string | undefined): Fresh {
  const [fresh, setFresh] = useState<Fresh>({ namespaces: 0, tables: 0, open: 0, latest: [] })
  const shown = useRef({ place, listed })
  shown.current = { place, listed }
  useEffect(() => {
    setFresh((before) => (before.latest.length === 0 ? before : { ...before, latest: [] }))
    if (caller === undefined) return undefined
    let concerned = { namespaces: false, tables: false, open: false }
    let heard: CommittedChange[] = []
    let timer: ReturnType<typeof setTimeout> | undefined
    let rested = 0
    const tell = () => {
      timer = undefined
      rested = performance.now() + restMillis
      const { namespaces, tables, open } = concerned
      const latest = heard.reverse()
      concerned = { namespaces: false, tables: false, open: false }
      heard = []
      setFresh((before) => ({
        namespaces: before.namespaces + Number(namespaces),
        tables: before.tables + Number(tables),
        open: before.open + Number(open),
        latest: [...latest, ...before.latest].slice(0, mostLatest),
      }))
    }
    const note = (parts: typeof concerned) => {
      concerned = {
        namespaces: concerned.namespaces || parts.namespaces,
        tables: concerned.tables || parts.tables,
        open: concerned.open || parts.open,
      }
      timer ??= setTimeout(tell, Math.max(firstMillis, rested - performance.now()))
    }
    const stop = followChanges({
      onChange: (change) => {
        heard.push(change)
        if (heard.length > mostLatest) heard.shift()
        note(concernedBy(change.changes, shown.current.place, shown.current.listed))
      },
      onGap: () => note(every),
    })
    return () => {
      stop()
      clearTimeout(timer)
    }
  }, [caller])
  return fresh
}
