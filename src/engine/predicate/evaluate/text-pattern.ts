import { invalid } from '../../../base/errors.ts'
import type { LikePlan } from '../plan/plan.ts'
import { expectSteps, maxStepsAtOnce } from '../work.ts'

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

/** Most characters of a segment with `_`. */
const maxUnits = 1_024
/** Characters in one word of the state. */
const unitsInWord = 32
/** About how many nanoseconds a byte of a text takes for one word. */
const stepsOfWord = 1
/** The search charges steps for longer segments. */
const fewWords = 4

/** The end of the first occurrence in the text from `from` to `to`; -1 if there is none. */
export type Find = (bytes: Uint8Array, from: number, to: number) => number

export function finderOf(tokens: readonly Token[]): Find {
  return tokens.includes(anyOne) ? withWildcards(tokens) : literal(Uint8Array.from(tokens))
}

/** Source: Knuth, Morris and Pratt, "Fast pattern matching in strings", 1977. */
function literal(needle: Uint8Array): Find {
  const length = needle.length
  const first = needle[0]!
  // How many bytes of the needle still match after `i` bytes matched and the next one did not.
  const border = new Int32Array(length + 1)
  border[0] = -1
  for (let i = 1, k = -1; i <= length; i++) {
    while (k >= 0 && needle[k] !== needle[i - 1]) k = border[k]!
    border[i] = ++k
  }
  return (bytes, from, to) => {
    let at = from
    let matched = 0
    while (at < to) {
      if (matched === 0) {
        const latest = to - length
        while (at <= latest && bytes[at] !== first) at++
        if (at > latest) return -1
      }
      const byte = bytes[at++]!
      while (matched >= 0 && needle[matched] !== byte) matched = border[matched]!
      if (++matched === length) return at
    }
    return -1
  }
}

/**
 * A segment with `_`. The state has a bit for each prefix of the segment that ends at the current code point. Source:
 * Baeza-Yates and Gonnet, "A new approach to text searching", 1992.
 */
function withWildcards(tokens: readonly Token[]): Find {
  const units = codePointsOf(tokens)
  if (units.length > maxUnits) {
    throw invalid(
      `A pattern of LIKE has ${units.length} characters between two "%", with "_" among them. ` +
        `Write at most ${maxUnits} there.`,
    )
  }
  const words = Math.ceil(units.length / unitsInWord)
  const anyMask = new Uint32Array(words)
  const masks = new Map<number, Uint32Array>()
  for (const unit of units) if (unit !== anyOne) masks.set(unit, new Uint32Array(words))
  units.forEach((unit, i) => {
    const bit = 1 << (i & 31)
    if (unit !== anyOne) masks.get(unit)![i >>> 5]! |= bit
    else for (const mask of [anyMask, ...masks.values()]) mask[i >>> 5]! |= bit
  })
  const state = new Uint32Array(words)
  const final = 1 << ((units.length - 1) & 31)
  return (bytes, from, to) => {
    if (words > fewWords) announce(units.length, to - from, (to - from) * words * stepsOfWord)
    state.fill(0)
    for (let at = from; at < to; ) {
      const length = lengthOfCodePoint(bytes[at]!)
      const mask = masks.get(codePointAt(bytes, at, length)) ?? anyMask
      at += length
      let carry = 1
      for (let w = 0; w < words; w++) {
        const old = state[w]!
        state[w] = ((old << 1) | carry) & mask[w]!
        carry = old >>> 31
      }
      if ((state[words - 1]! & final) !== 0) return at
    }
    return -1
  }
}

/** Charges the search for a long segment in a text. It cannot pause, so it is refused if it would take too long. */
function announce(units: number, bytes: number, steps: number): void {
  if (steps > maxStepsAtOnce) {
    throw invalid(
      `A pattern of LIKE has ${units} characters between two "%", with "_" among them, and a text has ${bytes} bytes. ` +
        'Together they take too much work. Write fewer characters there.',
    )
  }
  expectSteps(steps)
}

function codePointsOf(tokens: readonly Token[]): number[] {
  const units: number[] = []
  for (let i = 0; i < tokens.length; ) {
    if (tokens[i] === anyOne) {
      units.push(anyOne)
      i++
      continue
    }
    const length = lengthOfCodePoint(tokens[i]!)
    units.push(codePointAt(tokens, i, length))
    i += length
  }
  return units
}

/** The code point with the `length` UTF-8 bytes at `at`. */
export function codePointAt(bytes: ArrayLike<number>, at: number, length: number): number {
  const lead = bytes[at]!
  if (length === 1) return lead
  let code = lead & (0xff >> (length + 1))
  for (let i = 1; i < length; i++) code = (code << 6) | (bytes[at + i]! & 0x3f)
  return code
}
