import type { Bitmap } from '../../../arrow/bitmap.ts'
import { foldPattern } from '../../evaluate/text-fold.ts'
import {
  anyOne,
  type Matches,
  matcherOf,
  type Segments,
  segmentsOf,
  type Token,
} from '../../evaluate/text-pattern.ts'
import { likeMatcher } from '../../evaluate/value-test.ts'
import type { Texts } from '../../evaluate/vector.ts'
import type { Letters, LikePlan } from '../../plan/plan.ts'
import { generated } from '../generate.ts'
import { searchTest } from './search.ts'
import { eachText, type TextTest, testRemaining, verify, wordView } from './text-test.ts'

/** `LIKE` and `ILIKE` with a pattern. */
export function likeTest(plan: LikePlan): TextTest {
  const { insensitive } = plan
  const segments = segmentsOf(insensitive ? foldPattern(plan.pattern!) : plan.pattern!)
  const matches = likeMatcher(plan)
  if (segments[0]!.length > 0 || segments.length === 1) {
    return prefixTest(segments, matches, insensitive ? 'small' : undefined)
  }
  const [, middle, last] = segments
  const within =
    segments.length === 3 && last!.length === 0 ? containsTest(middle!, matches, insensitive) : undefined
  const slow = within ?? eachText(matches)
  return (insensitive ? undefined : searchTest(segments, matches, slow)) ?? slow
}

/** Equality with bytes, as a pattern without wildcards. */
export function equalTest(bytes: Uint8Array): TextTest {
  const segments = [Array.from(bytes)]
  return prefixTest(segments, matcherOf(segments))
}

/** Equality of bytes with a text in small or capital letters; `matches` decides for any text. */
export function lettersEqualTest(bytes: Uint8Array, letters: Letters, matches: Matches): TextTest {
  return prefixTest([Array.from(bytes)], matches, letters)
}

/**
 * Patterns that begin with literal text. The first 8 bytes and the length of each text are compared as words, without a
 * branch: 2 to 3 ns for each row, needed or not. Testing only the needed rows takes 5 to 10 ns for each of them. If
 * that does not decide, `matches` tests the remaining rows.
 *
 * A `_` matches one byte below 0x80. Texts with another byte there are rare, and `matches` tests them.
 *
 * With `letters` the pattern is compared with the text in small or capital letters. That works for bytes below 0x80
 * only: `matches` tests texts with another one among their first bytes. If one comes after the pattern's end, the text
 * has more characters than the pattern, whatever its letters become.
 */
function prefixTest(segments: Segments, matches: Matches, letters?: Letters): TextTest {
  const prefix = segments[0]!.slice(0, 8)
  const key = new Int32Array(2)
  const mask = new Int32Array(2)
  const any = new Int32Array(2)
  prefix.forEach((token, i) => {
    const shift = (i & 3) * 8
    if (token === anyOne) any[i >> 2]! |= 0x80 << shift
    else {
      key[i >> 2]! |= token << shift
      mask[i >> 2]! |= 0xff << shift
    }
  })
  const isWhole = segments.length === 1
  const hasAny = prefix.includes(anyOne)
  // Each code point takes at least one byte, so there is a least length; it is exact if all bytes are known. Letters of
  // the other case may have other lengths.
  const known = letters === undefined ? segments : [prefix]
  const length = known.reduce((sum, segment) => sum + segment.length, 0)
  const isLengthKnown = isWhole && letters === undefined && !segments[0]!.includes(anyOne)
  const isDecided =
    segments[0]!.length <= 8 && (isWhole || (segments.length === 2 && segments[1]!.length === 0))
  const isDouble = prefix.length > 4
  const exactLength = isLengthKnown || (isWhole && isDecided)
  const loop = prefixLoop(isDouble, hasAny, exactLength, letters)
  if (loop === undefined) return eachText(matches)

  return (texts, n, need, out) => {
    const { bytes, offsets } = texts
    const { view, safe } = wordView(texts, n)
    const matchWord = (firstRow: number) => {
      let word = 0
      for (let row = firstRow; row < Math.min(firstRow + 32, safe); row++) {
        if (((need[row >>> 5]! >>> (row & 31)) & 1) === 0) continue
        if (matches(bytes, offsets[row]!, offsets[row + 1]!)) word |= 1 << (row & 31)
      }
      return word
    }
    const words = [key[0]!, mask[0]! | any[0]!, key[1]!, mask[1]! | any[1]!, any[0]!, any[1]!] as const
    loop(safe, need, out, offsets, view, length, ...words, matchWord)
    if (!isDecided) verify(matches, texts, safe, out)
    if (safe < n) testRemaining(matches, texts, safe, n, need, out)
  }
}

type PrefixLoop = (
  n: number,
  need: Bitmap,
  out: Bitmap,
  offsets: Int32Array,
  view: DataView,
  length: number,
  key0: number,
  mask0: number,
  key1: number,
  mask1: number,
  /** The highest bits of bytes that may be any below 0x80. */
  any0: number,
  any1: number,
  matchWord: (firstRow: number) => number,
) => void

/** Compares one or two words of each text, and its exact or least length. */
function prefixLoop(
  isDouble: boolean,
  hasAny: boolean,
  exactLength: boolean,
  letters: Letters | undefined,
): PrefixLoop | undefined {
  const hasUnclear = hasAny || letters !== undefined
  let row = '{end=offsets[$i+1];let a=view.getUint32(start,true);'
  if (isDouble) row += 'let b=view.getUint32(start+4,true);'
  if (letters) row += `unclear|=(a${isDouble ? '|b' : ''})&0x80808080;${foldWord[letters]('a')};`
  else if (hasAny) row += `unclear|=a&any0${isDouble ? '|b&any1' : ''};`
  if (letters && isDouble) row += `${foldWord[letters]('b')};`
  const differs = [
    '((a&mask0)^key0)',
    ...(isDouble ? ['((b&mask1)^key1)'] : []),
    exactLength ? '(end-start^length)' : '(end-start-length)>>31',
  ]
  row += `w|=+((${differs.join('|')})===0)<<$b;start=end}`
  return generated<PrefixLoop>(
    'offsets,view,length,key0,mask0,key1,mask1,any0,any1,matchWord',
    row,
    `let start=offsets[i],end=0${hasUnclear ? ',unclear=0' : ''};`,
    hasUnclear ? 'if(unclear!==0)w=matchWord(i);' : '',
  )
}

/**
 * Converts four bytes below 0x80 to small or capital letters. The sums set a byte's highest bit if it is at or above
 * the first letter, and if it is above the last one.
 */
const foldWord = {
  small: (w: string) => `${w}|=((${w}+0x3f3f3f3f)&~(${w}+0x25252525)&0x80808080)>>>2`,
  capital: (w: string) => `${w}&=~(((${w}+0x1f1f1f1f)&~(${w}+0x05050505)&0x80808080)>>>2)`,
} as const

/** Bits of the state, one of which stays free. */
const maxTokens = 31

/**
 * `LIKE '%text%'`. The state has a bit for each prefix of the text that ends at the current byte. `_` and `ILIKE` cost
 * no more. Without them all bytes are compared; with `_` or folding, `matches` tests texts with bytes from 0x80 on.
 * Undefined if the text is too long. Source: Baeza-Yates and Gonnet, "A new approach to text searching", 1992.
 */
function containsTest(
  tokens: readonly Token[],
  matches: Matches,
  insensitive: boolean,
): TextTest | undefined {
  if (tokens.length > maxTokens) return undefined
  const masks = new Int32Array(256)
  tokens.forEach((token, i) => {
    const bit = 1 << i
    if (token === anyOne) for (let byte = 0; byte < 256; byte++) masks[byte]! |= bit
    else masks[token]! |= bit
    if (insensitive && token >= 0x61 && token <= 0x7a) masks[token - 32]! |= bit
  })
  const final = 1 << (tokens.length - 1)
  const needsAscii = insensitive || tokens.includes(anyOne)
  return (texts, n, need, out) => search(texts, n, need, out, masks, final, needsAscii ? 127 : 255, matches)
}

/** Texts with a byte above `highest` are tested by `matches`. */
function search(
  { bytes, offsets }: Texts,
  n: number,
  need: Bitmap,
  out: Bitmap,
  masks: Int32Array,
  final: number,
  highest: number,
  matches: Matches,
): void {
  for (let q = 0; q << 5 < n; q++) {
    let word = 0
    for (let rest = need[q]!; rest !== 0; rest &= rest - 1) {
      const bit = rest & -rest
      const row = (q << 5) + 31 - Math.clz32(bit)
      const end = offsets[row + 1]!
      let state = 0
      for (let at = offsets[row]!; at < end; at++) {
        const byte = bytes[at]!
        if (byte > highest) {
          if (matches(bytes, offsets[row]!, end)) word |= bit
          break
        }
        state = ((state << 1) | 1) & masks[byte]!
        if ((state & final) !== 0) {
          word |= bit
          break
        }
      }
    }
    out[q] = word
  }
}
