import { countRows } from '../../../arrow/bitmap.ts'
import { isAscii } from '../../evaluate/ascii.ts'
import { anyOne, type Matches, type Segments, type Token } from '../../evaluate/text-pattern.ts'
import { type TextTest, testRemaining } from './text-test.ts'

/** Bytes that are compared at once. */
const wordBytes = 4

/** Most literal bytes after them that are compared with each hit. A long text of hits must not take much time. */
const maxRest = 12

/** Most bytes of a segment with `_`: the search for longer ones may be refused, whether or not there is a hit. */
const maxWithAny = 128

/** The share of needed rows from which on the bytes of all rows are searched. */
const minNeeded = 1 / 2

/**
 * Patterns with literal text between two `%`. All texts of a slice are searched at once for up to 4 bytes of it: 0.6 ns
 * for a byte, and nothing for a row. `matches` decides about the rows with a hit, unless the hit does. `slow` tests
 * slices of which few rows are needed. Undefined if the pattern has no such text.
 *
 * The bytes may include one `_`. It stands for a byte below 0x80, or for the first byte of a longer code point.
 */
export function searchTest(segments: Segments, matches: Matches, slow: TextTest): TextTest | undefined {
  const between = segments.slice(1, -1)
  if (between.some((segment) => segment.length > maxWithAny && segment.includes(anyOne))) return undefined
  const found = between.map(windowOf).reduce<Window | undefined>(better, undefined)
  if (found === undefined) return undefined
  const { tokens, rest } = found
  const isDecided =
    between.length === 1 &&
    between[0]!.length === tokens.length + rest.length &&
    segments.at(-1)!.length === 0
  const any = tokens.indexOf(anyOne)
  const plain = wordOf(tokens, 0x80, 0)
  const long = any < 0 ? undefined : wordOf(tokens.slice(0, any + 1), 0xc0, 0xc0)
  return (texts, n, need, out) => {
    if (countRows(need, (n + 31) >>> 5) < n * minNeeded) {
      slow(texts, n, need, out)
      return
    }
    const { bytes, offsets } = texts
    const view = new DataView(bytes.buffer, bytes.byteOffset)
    let safe = n
    while (safe > 0 && offsets[safe]! + wordBytes > view.byteLength) safe--
    out.fill(0, 0, (n + 31) >>> 5)
    const other = long !== undefined && !isAscii(texts, n) ? long : plain
    const end = offsets[safe]!
    let row = 0
    for (let at = findWord(view, offsets[0]!, end, plain, other); at < end; ) {
      while (offsets[row + 1]! <= at) row++
      const to = offsets[row + 1]!
      const isPlain = ((view.getInt32(at, true) ^ plain.key) & plain.mask) === 0
      if (isPlain && !(at + tokens.length + rest.length <= to && hasBytes(bytes, at + tokens.length, rest)))
        at++
      else {
        const isMatch = (isPlain && isDecided) || matches(bytes, offsets[row]!, to)
        if (isMatch) out[row >>> 5]! |= 1 << (row & 31)
        at = to
      }
      at = findWord(view, at, end, plain, other)
    }
    for (let q = 0; q << 5 < safe; q++) out[q]! &= need[q]!
    if (safe < n) testRemaining(matches, texts, safe, n, need, out)
  }
}

/** A part of a pattern: up to 4 bytes, `_` for one of them, and the literal bytes that follow. */
interface Window {
  readonly tokens: readonly Token[]
  readonly rest: readonly Token[]
}

function literals({ tokens }: Window): number {
  return tokens.filter((token) => token !== anyOne).length
}

function better(a: Window | undefined, b: Window | undefined): Window | undefined {
  return a === undefined || (b !== undefined && literals(b) > literals(a)) ? b : a
}

/** The window of a segment with the most literal bytes; undefined if it has none. */
function windowOf(segment: readonly Token[]): Window | undefined {
  let best: Window | undefined
  for (let start = 0; start < segment.length; start++) {
    if (segment[start] === anyOne) continue
    let tokens = segment.slice(start, start + wordBytes)
    const second = tokens.indexOf(anyOne, tokens.indexOf(anyOne) + 1)
    if (second > tokens.indexOf(anyOne)) tokens = tokens.slice(0, second)
    if (tokens.at(-1) === anyOne) tokens = tokens.slice(0, -1)
    const following = segment.slice(start + tokens.length, start + tokens.length + maxRest)
    const after = following.indexOf(anyOne)
    const rest = after < 0 ? following : following.slice(0, after)
    best = better(best, { tokens, rest })
  }
  return best
}

interface Word {
  readonly key: number
  readonly mask: number
}

/** The bits that are compared of a word, and their values. `_` has the given ones. */
function wordOf(tokens: readonly Token[], anyMask: number, anyKey: number): Word {
  let key = 0
  let mask = 0
  tokens.forEach((token, i) => {
    key |= (token === anyOne ? anyKey : token) << (8 * i)
    mask |= (token === anyOne ? anyMask : 0xff) << (8 * i)
  })
  return { key, mask }
}

/** The first position from `from` on with one of two words; `to` for none. */
function findWord(view: DataView, from: number, to: number, one: Word, other: Word): number {
  const { key, mask } = one
  if (one === other) {
    for (let at = from; at < to; at++) if (((view.getInt32(at, true) ^ key) & mask) === 0) return at
    return to
  }
  for (let at = from; at < to; at++) {
    const word = view.getInt32(at, true)
    if (((word ^ key) & mask) === 0 || ((word ^ other.key) & other.mask) === 0) return at
  }
  return to
}

function hasBytes(bytes: Uint8Array, from: number, wanted: readonly Token[]): boolean {
  for (let i = 0; i < wanted.length; i++) if (bytes[from + i] !== wanted[i]) return false
  return true
}
