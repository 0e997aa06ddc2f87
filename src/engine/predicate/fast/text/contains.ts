import type { Bitmap } from '../../../arrow/bitmap.ts'
import { anyOne, type Matches, type Token } from '../../evaluate/text-pattern.ts'
import type { Texts } from '../../evaluate/vector.ts'
import type { TextTest } from './text-test.ts'

/** Bits of the state, one of which stays free. */
const mostTokens = 31

/**
 * `LIKE '%text%'`. The state has a bit for each prefix of the text that ends at the current byte. `_` and `ILIKE` cost
 * no more. Without them all bytes are compared; with `_` or folding, `matches` tests texts with bytes from 0x80 on.
 * Undefined if the text is too long. Source: Baeza-Yates and Gonnet, "A new approach to text searching", 1992.
 */
export function containsTest(
  tokens: readonly Token[],
  matches: Matches,
  insensitive: boolean,
): TextTest | undefined {
  if (tokens.length > mostTokens) return undefined
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
