import type { HttpOptions } from '../options.ts'
import { Throttled } from './admission-control.ts'

/** Counts a request of a caller; fails with `Throttling` when it is one too many. */
export type RateLimit = (caller: string) => void

/** Most callers that are counted at once. The one that has been silent for longest is forgotten first. */
const mostCallers = 5_000

interface Window {
  readonly since: number
  requests: number
}

/** Limits the requests of each caller in a time that begins with the caller's first request. */
export function rateLimiter(
  { requests, perMillis }: NonNullable<HttpOptions['rateLimit']>,
  now: () => number = () => performance.now(),
): RateLimit {
  const windows = new Map<string, Window>()
  return (caller) => {
    const time = now()
    const known = windows.get(caller)
    const window = known && time < known.since + perMillis ? known : { since: time, requests: 0 }
    window.requests++
    // A map keeps the order of insertion, so the callers heard of last are at its end.
    windows.delete(caller)
    windows.set(caller, window)
    if (windows.size > mostCallers) windows.delete(windows.keys().next().value!)
    if (window.requests > requests) {
      const wait = window.since + perMillis - time
      throw new Throttled(
        `More than ${requests} requests came within ${perMillis} milliseconds`,
        Math.ceil(wait / 1_000),
      )
    }
  }
}
