import { useEffect, useRef, useState } from 'preact/hooks'
import type { Identifier } from '../base/model/identifier.ts'
import { followChanges } from './feed.ts'
import { affectedParts, type CommittedChange } from './model/affected-parts.ts'
import type { Route } from './model/route.ts'

/** Counters. When one rises, its part of the page may be outdated and is fetched again. */
export interface RefreshCounters {
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

const allParts = { namespaces: true, tables: true, open: true }

/** Follows the stream of changes while there is a caller, and counts the changes that affect each part of the page. */
export function useRefreshCounters(
  route: Route,
  listed: Identifier,
  caller: string | undefined,
): RefreshCounters {
  const [counters, setCounters] = useState<RefreshCounters>({ namespaces: 0, tables: 0, open: 0, latest: [] })
  const shown = useRef({ route, listed })
  shown.current = { route, listed }
  useEffect(() => {
    setCounters((before) => (before.latest.length === 0 ? before : { ...before, latest: [] }))
    if (caller === undefined) return undefined
    let affected = { namespaces: false, tables: false, open: false }
    let received: CommittedChange[] = []
    let timer: ReturnType<typeof setTimeout> | undefined
    let earliest = 0
    const publish = () => {
      timer = undefined
      earliest = performance.now() + restMillis
      const { namespaces, tables, open } = affected
      const latest = received.reverse()
      affected = { namespaces: false, tables: false, open: false }
      received = []
      setCounters((before) => ({
        namespaces: before.namespaces + Number(namespaces),
        tables: before.tables + Number(tables),
        open: before.open + Number(open),
        latest: [...latest, ...before.latest].slice(0, mostLatest),
      }))
    }
    const markAffected = (parts: typeof affected) => {
      affected = {
        namespaces: affected.namespaces || parts.namespaces,
        tables: affected.tables || parts.tables,
        open: affected.open || parts.open,
      }
      timer ??= setTimeout(publish, Math.max(firstMillis, earliest - performance.now()))
    }
    const stop = followChanges({
      onChange: (change) => {
        received.push(change)
        if (received.length > mostLatest) received.shift()
        markAffected(affectedParts(change.changes, shown.current.route, shown.current.listed))
      },
      onGap: () => markAffected(allParts),
    })
    return () => {
      stop()
      clearTimeout(timer)
    }
  }, [caller])
  return counters
}
