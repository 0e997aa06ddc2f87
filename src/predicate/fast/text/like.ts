import type { Bitmap } from '../../../arrow/bitmap.ts'
import { likeMatcher } from '../../evaluate/question.ts'
import { foldPattern } from '../../evaluate/text-fold.ts'
import { anyOne, type Matches, matcherOf, type Segments, segmentsOf } from '../../evaluate/text-pattern.ts'
import type { Letters, LikePlan } from '../../plan/plan.ts'
import { eachText, finish, readable, type TextTest, verify } from './text-test.ts'
import { withinTest } from './within.ts'

/** `LIKE` and `ILIKE` with a pattern. */
export function likeTest(plan: LikePlan): TextTest {
  const { insensitive } = plan
  const segments = segmentsOf(insensitive ? foldPattern(plan.pattern!) : plan.pattern!)
  const matches = likeMatcher(plan)
  if (segments[0]!.length > 0 || segments.length === 1) {
    return headTest(segments, matches, insensitive ? 'small' : undefined)
  }
  const [, middle, last] = segments
  const within =
    segments.length === 3 && last!.length === 0 ? withinTest(middle!, matches, insensitive) : undefined
  return within ?? eachText(matches)
}

/** Equality with bytes: like a pattern that has no wildcards. */
export function equalTest(bytes: Uint8Array): TextTest {
  const segments = [Array.from(bytes)]
  return headTest(segments, matcherOf(segments))
}

/** Equality with bytes of what a text is in small or capital letters; `matches` tells of any text. */
export function lettersEqualTest(bytes: Uint8Array, letters: Letters, matches: Matches): TextTest {
  return headTest([Array.from(bytes)], matches, letters)
}

/**
 * Patterns that say how a text begins. The first 8 bytes and the length of each text are compared as words,
 * without a branch: 2 to 4 ns for each row, needed or not, where going to each needed row takes 5 to 10.
 * Where this does not decide, what is left is asked of `matches`.
 *
 * A `_` is taken for one byte below 0x80. Texts with another one there are rare, and settled by `matches`.
 *
 * With `letters` the pattern is one of what texts are in small or capital letters. That is known of bytes below
 * 0x80 only; texts with another one among their first bytes are settled by `matches`. If one comes after the
 * pattern's end, the text has more characters than the pattern, whatever its letters become.
 */
function headTest(segments: Segments, matches: Matches, letters?: Letters): TextTest {
  const head = segments[0]!.slice(0, 8)
  const key = new Int32Array(2)
  const mask = new Int32Array(2)
  const any = new Int32Array(2)
  head.forEach((token, i) => {
    const shift = (i & 3) * 8
    if (token === anyOne) any[i >> 2]! |= 0x80 << shift
    else {
      key[i >> 2]! |= token << shift
      mask[i >> 2]! |= 0xff << shift
    }
  })
  const isWhole = segments.length === 1
  const hasAny = head.includes(anyOne)
  // Each code point takes at least a byte, so there is a least length; and just one if all bytes are known.
  // Other letters may take other lengths.
  const known = letters === undefined ? segments : [head]
  const length = known.reduce((sum, segment) => sum + segment.length, 0)
  const isLengthKnown = isWhole && letters === undefined && !segments[0]!.includes(anyOne)
  const isDecided =
    segments[0]!.length <= 8 && (isWhole || (segments.length === 2 && segments[1]!.length === 0))
  const head8: Head = {
    key0: key[0]!,
    key1: key[1]!,
    mask0: mask[0]! | any[0]!,
    mask1: mask[1]! | any[1]!,
    any0: any[0]!,
    any1: any[1]!,
    length,
    // A text that is longer differs, unless what follows may be anything.
    longer: isLengthKnown || (isWhole && isDecided) ? -1 : 0,
  }

  const fold = mask[1] === 0 ? shortFoldedHeads : foldedHeads

  return (texts, n, need, out) => {
    const { bytes, offsets } = texts
    const { view, safe } = readable(texts, n)
    const matchWord = (firstRow: number) => {
      let word = 0
      for (let row = firstRow; row < Math.min(firstRow + 32, safe); row++) {
        if (((need[row >>> 5]! >>> (row & 31)) & 1) === 0) continue
        if (matches(bytes, offsets[row]!, offsets[row + 1]!)) word |= 1 << (row & 31)
      }
      return word
    }
    if (letters !== undefined) fold(offsets, view, safe, need, out, head8, folds[letters], matchWord)
    else if (hasAny) someHeads(offsets, view, safe, need, out, head8, matchWord)
    else if (mask[1] === 0) shortHeads(offsets, view, safe, need, out, head8)
    else heads(offsets, view, safe, need, out, head8)
    if (!isDecided) verify(matches, texts, safe, out)
    if (safe < n) finish(matches, texts, safe, n, need, out)
  }
}

/** The first 8 bytes of a text in two words, and its length. */
interface Head {
  readonly key0: number
  readonly key1: number
  /** The bits that are compared. */
  readonly mask0: number
  readonly mask1: number
  /** The highest bits of bytes that may be any below 0x80. */
  readonly any0: number
  readonly any1: number
  /** The least length. */
  readonly length: number
  /** -1 where a text that is longer differs, 0 elsewhere. */
  readonly longer: number
}

/**
 * For patterns that say four bytes at most: reading the others would take half as long again. Four rows at once take
 * 3.8 ns each where one by one they take 5.3.
 */
function shortHeads(
  offsets: Int32Array,
  view: DataView,
  n: number,
  need: Bitmap,
  out: Bitmap,
  { key0: key, mask0: mask, length, longer }: Head,
): void {
  for (let i = 0, q = 0; i < n; i += 32, q++) {
    let word = 0
    if (need[q] !== 0) {
      const last = Math.min(i + 32, n)
      let start = offsets[i]!
      let k = i
      for (; k + 4 <= last; k += 4) {
        const b = offsets[k + 1]!
        const c = offsets[k + 2]!
        const d = offsets[k + 3]!
        const end = offsets[k + 4]!
        const first =
          ((view.getUint32(start, true) & mask) ^ key) |
          ((b - start - length) >> 31) |
          ((b - start - length) & longer)
        const second =
          ((view.getUint32(b, true) & mask) ^ key) | ((c - b - length) >> 31) | ((c - b - length) & longer)
        const third =
          ((view.getUint32(c, true) & mask) ^ key) | ((d - c - length) >> 31) | ((d - c - length) & longer)
        const fourth =
          ((view.getUint32(d, true) & mask) ^ key) |
          ((end - d - length) >> 31) |
          ((end - d - length) & longer)
        word |=
          (+(first === 0) | (+(second === 0) << 1) | (+(third === 0) << 2) | (+(fourth === 0) << 3)) << k
        start = end
      }
      for (; k < last; k++) {
        const end = offsets[k + 1]!
        const differs =
          ((view.getUint32(start, true) & mask) ^ key) |
          ((end - start - length) >> 31) |
          ((end - start - length) & longer)
        word |= +(differs === 0) << k
        start = end
      }
    }
    out[q] = word & need[q]!
  }
}

function heads(
  offsets: Int32Array,
  view: DataView,
  n: number,
  need: Bitmap,
  out: Bitmap,
  { key0, key1, mask0, mask1, length, longer }: Head,
): void {
  for (let i = 0, q = 0; i < n; i += 32, q++) {
    let word = 0
    if (need[q] !== 0) {
      let end = offsets[Math.min(i + 32, n)]!
      for (let k = Math.min(i + 32, n) - 1; k >= i; k--) {
        const start = offsets[k]!
        const over = end - start - length
        const a = view.getUint32(start, true)
        const b = view.getUint32(start + 4, true)
        const differs = ((a & mask0) ^ key0) | ((b & mask1) ^ key1) | (over >> 31) | (over & longer)
        word = (word << 1) | +(differs === 0)
        end = start
      }
    }
    out[q] = word & need[q]!
  }
}

/** Words with a byte from 0x80 on where a `_` stands are settled by `matchWord`. */
function someHeads(
  offsets: Int32Array,
  view: DataView,
  n: number,
  need: Bitmap,
  out: Bitmap,
  { key0, key1, mask0, mask1, any0, any1, length, longer }: Head,
  matchWord: (firstRow: number) => number,
): void {
  for (let i = 0, q = 0; i < n; i += 32, q++) {
    let word = 0
    if (need[q] !== 0) {
      let seen = 0
      let end = offsets[Math.min(i + 32, n)]!
      for (let k = Math.min(i + 32, n) - 1; k >= i; k--) {
        const start = offsets[k]!
        const over = end - start - length
        const a = view.getUint32(start, true)
        const b = view.getUint32(start + 4, true)
        seen |= (a & any0) | (b & any1)
        const differs = ((a & mask0) ^ key0) | ((b & mask1) ^ key1) | (over >> 31) | (over & longer)
        word = (word << 1) | +(differs === 0)
        end = start
      }
      if (seen !== 0) word = matchWord(i)
    }
    out[q] = word & need[q]!
  }
}

/**
 * Four bytes below 0x80 in small or capital letters: to each byte is added what makes its highest bit tell
 * whether it is at or above the first letter, and whether it is above the last. The case of those that are
 * between is turned over.
 */
const folds = {
  small: { first: 0x3f3f3f3f, last: 0x25252525 },
  capital: { first: 0x1f1f1f1f, last: 0x05050505 },
} as const

function shortFoldedHeads(
  offsets: Int32Array,
  view: DataView,
  n: number,
  need: Bitmap,
  out: Bitmap,
  { key0, mask0, length, longer }: Head,
  { first, last }: (typeof folds)[Letters],
  matchWord: (firstRow: number) => number,
): void {
  for (let i = 0, q = 0; i < n; i += 32, q++) {
    let word = 0
    if (need[q] !== 0) {
      let seen = 0
      let end = offsets[Math.min(i + 32, n)]!
      for (let k = Math.min(i + 32, n) - 1; k >= i; k--) {
        const start = offsets[k]!
        const over = end - start - length
        let a = view.getUint32(start, true)
        seen |= a & 0x80808080
        a ^= ((a + first) & ~(a + last) & 0x80808080) >>> 2
        const differs = ((a & mask0) ^ key0) | (over >> 31) | (over & longer)
        word = (word << 1) | +(differs === 0)
        end = start
      }
      if (seen !== 0) word = matchWord(i)
    }
    out[q] = word & need[q]!
  }
}

function foldedHeads(
  offsets: Int32Array,
  view: DataView,
  n: number,
  need: Bitmap,
  out: Bitmap,
  { key0, key1, mask0, mask1, length, longer }: Head,
  { first, last }: (typeof folds)[Letters],
  matchWord: (firstRow: number) => number,
): void {
  for (let i = 0, q = 0; i < n; i += 32, q++) {
    let word = 0
    if (need[q] !== 0) {
      let seen = 0
      let end = offsets[Math.min(i + 32, n)]!
      for (let k = Math.min(i + 32, n) - 1; k >= i; k--) {
        const start = offsets[k]!
        const over = end - start - length
        let a = view.getUint32(start, true)
        let b = view.getUint32(start + 4, true)
        seen |= (a | b) & 0x80808080
        a ^= ((a + first) & ~(a + last) & 0x80808080) >>> 2
        b ^= ((b + first) & ~(b + last) & 0x80808080) >>> 2
        const differs = ((a & mask0) ^ key0) | ((b & mask1) ^ key1) | (over >> 31) | (over & longer)
        word = (word << 1) | +(differs === 0)
        end = start
      }
      if (seen !== 0) word = matchWord(i)
    }
    out[q] = word & need[q]!
  }
}
