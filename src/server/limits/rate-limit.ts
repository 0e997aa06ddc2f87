import { performance } from '../../base/time.ts'
import type { HttpOptions } from '../options.ts'
import { Throttled } from './admission-control.ts'

/** Counts a request of a caller; fails with `Throttling` when it is one too many. */
export interface RateLimit {
  (caller: string): void
  /** Takes back one request that was counted. */
  forgive(caller: string): void
}

/** Most callers that are counted at once. The one that has been silent for longest is forgotten first. */
const mostCallers = 5_000

interface Window {
  readonly since: number
  requests: number
}

/** Limits the requests of each caller in a time that begins with the caller's first request. `what` names the requests. */
export function rateLimiter(
  { requests, perMillis }: NonNullable<HttpOptions['rateLimit']>,
  now: () => number = () => performance.now(),
  what = 'requests',
): RateLimit {
  const windows = new Map<string, Window>()
  const count = (caller: string) => {
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
        `More than ${requests} ${what} came within ${perMillis} milliseconds`,
        Math.ceil(wait / 1_000),
      )
    }
  }
  const forgive = (caller: string) => {
    const window = windows.get(caller)
    if (window !== undefined && window.requests > 0) window.requests--
  }
  return Object.assign(count, { forgive })
}
