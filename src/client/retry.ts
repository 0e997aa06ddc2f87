const firstWait = 100
const longestWait = 5_000

/**
 * How long to wait before a request is sent again, in milliseconds: at least what the server asks for, and
 * a random part that doubles with every attempt, so that clients refused together do not come back together.
 * `attempt` counts from 0.
 */
export function waitBefore(
  attempt: number,
  retryAfter: string | null | undefined,
  { random = Math.random, now = Date.now }: { random?: () => number; now?: () => number } = {},
): number {
  const spread = Math.min(longestWait, firstWait * 2 ** attempt) * random()
  return (retryAfter ? asked(retryAfter, now()) : 0) + spread
}

/** `Retry-After` in milliseconds: a number of seconds or a date (RFC 9110, section 10.2.3); else nothing. */
function asked(retryAfter: string, now: number): number {
  if (/^\s*\d+\s*$/.test(retryAfter)) return Number(retryAfter) * 1000
  const date = Date.parse(retryAfter)
  return Number.isNaN(date) ? 0 : Math.max(0, date - now)
}
