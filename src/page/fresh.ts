import { useEffect, useRef, useState } from 'preact/hooks'
import type { Identifier } from '../base/model/identifier.ts'
import { followChanges } from './feed.ts'
import { type CommittedChange, concernedBy } from './model/concerns.ts'
import type { Place } from './model/place.ts'

/** Counters. When one rises, its part of the page may be outdated and is fetched again. */
export interface Fresh {
  readonly namespaces: number
  readonly tables: number
  readonly open: number
  /** The latest changes from the stream, latest first. */
  readonly latest: readonly CommittedChange[]
}

const mostLatest = 100
/** The minimum interval between two refreshes, in milliseconds. */
const restMillis = 3_000
const firstMillis = 150

const every = { namespaces: true, tables: true, open: true }

/** Follows the stream of changes while there is a caller, and counts the changes that affect each part of the page. */
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
