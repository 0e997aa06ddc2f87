import type { LikePlan } from '../plan/plan.ts'
import { type Find, finderOf } from './text-search.ts'

/** A byte of a `LIKE` pattern in UTF-8; `anyOne` matches one code point of any length. */
export type Token = number
export const anyOne: Token = -1

/** The segments of a pattern between its `%`: at least one, the first and last may be empty. */
export type Segments = readonly (readonly Token[])[]

export function segmentsOf(pattern: NonNullable<LikePlan['pattern']>): Segments {
  const segments: Token[][] = [[]]
  for (const part of pattern) {
    const last = segments.at(-1)!
    // Not spread into one push: a part may have more bytes than a call can have arguments.
    if (typeof part === 'string') for (const byte of Buffer.from(part)) last.push(byte)
    else if (part.any === 'one') last.push(anyOne)
    else segments.push([])
  }
  // Consecutive `%` are equal to one.
  return segments.filter((segment, i) => segment.length > 0 || i === 0 || i === segments.length - 1)
}

/** Whether the text from `from` to `to` matches the pattern. */
export type Matches = (bytes: Uint8Array, from: number, to: number) => boolean

/**
 * A matcher of whole texts. The first and last segments must match at the start and end of the text. Those between are
 * searched from left to right, each at its first match. There is no backtracking, so time is linear in the text.
 */
export function matcherOf(segments: Segments): Matches {
  const first = Int16Array.from(segments[0]!)
  if (segments.length === 1) return (bytes, from, to) => matchForward(first, bytes, from, to) === to
  const last = Int16Array.from(segments.at(-1)!)
  const between: Find[] = segments.slice(1, -1).map(finderOf)
  return (bytes, from, to) => {
    let at = matchForward(first, bytes, from, to)
    if (at < 0) return false
    const end = matchBackward(last, bytes, at, to)
    if (end < 0) return false
    for (let i = 0; i < between.length; i++) {
      at = between[i]!(bytes, at, end)
      if (at < 0) return false
    }
    return true
  }
}

/** The end of a segment that begins at `from`; -1 if it does not match there. */
function matchForward(tokens: Int16Array, bytes: Uint8Array, from: number, to: number): number {
  let at = from
  for (let i = 0; i < tokens.length; i++) {
    if (at >= to) return -1
    const token = tokens[i]!
    if (token === anyOne) at += lengthOfCodePoint(bytes[at]!)
    else if (bytes[at++] !== token) return -1
  }
  return at
}

/** The start of a segment that ends at `to`; -1 if it does not match there after `from`. */
function matchBackward(tokens: Int16Array, bytes: Uint8Array, from: number, to: number): number {
  let at = to
  for (let i = tokens.length - 1; i >= 0; i--) {
    if (at <= from) return -1
    const token = tokens[i]!
    at--
    if (token === anyOne) while ((bytes[at]! & 0xc0) === 0x80) at--
    else if (bytes[at] !== token) return -1
  }
  return at < from ? -1 : at
}

export function lengthOfCodePoint(lead: number): number {
  return lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4
}
