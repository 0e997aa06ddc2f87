import { CatalogError } from '../../base/errors.ts'
import { performance } from '../../base/time.ts'

/** Counts a request of a caller. Fails with `Throttling` above the limit. */
export interface RateLimit {
  (caller: string): void
  /** Removes one request from the count. */
  refund(caller: string): void
}

/** The most callers with a counter. The least recent caller is evicted first. */
const maxCallers = 5_000

interface Window {
  readonly since: number
  requests: number
}

/** Limits each caller's requests in a window from the first request. `what` names the requests in errors. */
export function rateLimiter(
  { requests, perMillis }: { readonly requests: number; readonly perMillis: number },
  now: () => number = () => performance.now(),
  what = 'requests',
): RateLimit {
  const windows = new Map<string, Window>()
  const count = (caller: string) => {
    const time = now()
    const known = windows.get(caller)
    const window = known && time < known.since + perMillis ? known : { since: time, requests: 0 }
    window.requests++
    // Reinserted, because a map keeps insertion order: the most recent callers are at its end.
    windows.delete(caller)
    windows.set(caller, window)
    if (windows.size > maxCallers) windows.delete(windows.keys().next().value!)
    if (window.requests > requests) {
      const wait = window.since + perMillis - time
      throw new Throttled(
        `More than ${requests} ${what} came within ${perMillis} milliseconds`,
        Math.ceil(wait / 1_000),
      )
    }
  }
  const refund = (caller: string) => {
    const window = windows.get(caller)
    if (window !== undefined && window.requests > 0) window.requests--
  }
  return Object.assign(count, { refund })
}

/** An error with status 503 "Slow down". */
export class Throttled extends CatalogError {
  /** The delay before a retry, in seconds, if it is known. */
  readonly seconds: number | undefined

  constructor(why: string, seconds?: number) {
    super('Throttling', `${why}. Wait as long as Retry-After says, and send less at a time.`)
    this.seconds = seconds
  }
}
