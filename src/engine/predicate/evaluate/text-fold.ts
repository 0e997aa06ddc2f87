import type { LikePlan } from '../plan/plan.ts'
import { codePointAt, lengthOfCodePoint, type Matches, matcherOf, type Segments } from './text-pattern.ts'

const folded = new Map<number, number>()

/** Unicode's simple case folding. One code point maps to one, so that `_` still matches it. */
export function foldCodePoint(code: number): number {
  if (code < 0x80) return code >= 0x41 && code <= 0x5a ? code + 32 : code
  const known = folded.get(code)
  if (known !== undefined) return known
  const result = fold(code)
  folded.set(code, result)
  return result
}

function fold(code: number): number {
  const text = String.fromCodePoint(code)
  // The regular expression engine has the folding table, but does not expose it: it can only compare.
  const same = new RegExp(`^\\u{${code.toString(16)}}$`, 'iu')
  for (const candidate of [text.toUpperCase().toLowerCase(), text.toLowerCase(), text.toUpperCase()]) {
    if (same.test(candidate)) return candidate.codePointAt(0)!
  }
  return code
}

function foldText(text: string): string {
  return Array.from(text, (char) => String.fromCodePoint(foldCodePoint(char.codePointAt(0)!))).join('')
}

let scratch = new Uint8Array(1024)

export function foldPattern(pattern: NonNullable<LikePlan['pattern']>): NonNullable<LikePlan['pattern']> {
  return pattern.map((part) => (typeof part === 'string' ? foldText(part) : part))
}

/** `ILIKE` with the segments of a folded pattern: the text is folded, then matched as by `LIKE`. */
export function foldingMatcher(segments: Segments): Matches {
  const matches = matcherOf(segments)
  return (bytes, from, to) => {
    const length = foldInto(bytes, from, to)
    return matches(scratch, 0, length)
  }
}

function foldInto(bytes: Uint8Array, from: number, to: number): number {
  // A folded code point takes at most three bytes where the original takes two.
  if (scratch.length < (to - from) * 2) scratch = new Uint8Array((to - from) * 4)
  let length = 0
  for (let at = from; at < to; ) {
    const byte = bytes[at]!
    if (byte < 0x80) {
      scratch[length++] = byte >= 0x41 && byte <= 0x5a ? byte + 32 : byte
      at++
      continue
    }
    const size = lengthOfCodePoint(byte)
    length = write(foldCodePoint(codePointAt(bytes, at, size)), length)
    at += size
  }
  return length
}

function write(code: number, at: number): number {
  if (code < 0x80) {
    scratch[at] = code
    return at + 1
  }
  if (code < 0x800) {
    scratch[at] = 0xc0 | (code >> 6)
    scratch[at + 1] = 0x80 | (code & 63)
    return at + 2
  }
  if (code < 0x10000) {
    scratch[at] = 0xe0 | (code >> 12)
    scratch[at + 1] = 0x80 | ((code >> 6) & 63)
    scratch[at + 2] = 0x80 | (code & 63)
    return at + 3
  }
  scratch[at] = 0xf0 | (code >> 18)
  scratch[at + 1] = 0x80 | ((code >> 12) & 63)
  scratch[at + 2] = 0x80 | ((code >> 6) & 63)
  scratch[at + 3] = 0x80 | (code & 63)
  return at + 4
}
