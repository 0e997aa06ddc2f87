import { charge } from '../work.ts'
import type { LikePlan } from './plan.ts'

/** Whether a text matches a pattern of LIKE. Retries the last wildcard only, so that time is not exponential. */
export function matchLike(
  pattern: NonNullable<LikePlan['pattern']>,
  text: string,
  insensitive: boolean,
  where: number,
): boolean {
  const fold = insensitive ? foldCase : (char: string) => char
  const wanted: (string | { readonly any: 'one' | 'many' })[] = []
  for (const part of pattern) {
    if (typeof part === 'string') wanted.push(...Array.from(part, fold))
    else wanted.push(part)
  }
  const chars = Array.from(text, fold)
  let at = 0
  let next = 0
  let retryAt = -1
  let retryNext = -1
  let left = announcedAtOnce
  while (at < chars.length) {
    if (--left === 0) {
      charge(announcedAtOnce * 10, 'LIKE', where)
      left = announcedAtOnce
    }
    const part = wanted[next]
    if (typeof part === 'object' && part.any === 'many') {
      retryAt = at
      retryNext = ++next
    } else if (part !== undefined && (typeof part === 'object' || part === chars[at])) {
      at++
      next++
    } else if (retryNext >= 0) {
      at = ++retryAt
      next = retryNext
    } else {
      return false
    }
  }
  return wanted.slice(next).every((part) => typeof part === 'object' && part.any === 'many')
}

/** Comparisons that are charged together. */
const announcedAtOnce = 10_000

/** Maps characters that differ in case only to one. */
function foldCase(char: string): string {
  const upper = char.toUpperCase()
  const lower = (upper.length === char.length ? upper : char).toLowerCase()
  return lower.length === char.length ? lower : char
}
