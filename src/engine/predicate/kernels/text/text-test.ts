import type { Bitmap } from '../../../arrow/bitmap.ts'
import { eachNeeded } from '../../evaluate/frame.ts'
import type { Matches } from '../../evaluate/text-pattern.ts'
import type { Texts } from '../../evaluate/vector.ts'

/** A test of texts: writes the rows of `need` that pass into `out`. */
export type TextTest = (texts: Texts, n: number, need: Bitmap, out: Bitmap) => void

/** Tests each needed row separately. */
export function eachText(matches: Matches): TextTest {
  return ({ bytes, offsets }, n, need, out) =>
    eachNeeded(n, need, out, (row) => matches(bytes, offsets[row]!, offsets[row + 1]!))
}

/**
 * The bytes up to the end of their buffer, so that words of 4 bytes can be read past the texts; and how many of the
 * first `n` texts begin at least 8 bytes before that end.
 */
export function wordView({ bytes, offsets }: Texts, n: number): { view: DataView; safe: number } {
  const view = new DataView(bytes.buffer, bytes.byteOffset)
  const limit = view.byteLength - 8
  if (offsets[n]! <= limit) return { view, safe: n }
  let low = 0
  let high = n
  while (low < high) {
    const middle = (low + high) >>> 1
    if (offsets[middle]! <= limit) low = middle + 1
    else high = middle
  }
  return { view, safe: low }
}

/** Adds the matching rows of `need` from `first` to `n` to `out`, which has only earlier rows so far. */
export function testRemaining(
  matches: Matches,
  { bytes, offsets }: Texts,
  first: number,
  n: number,
  need: Bitmap,
  out: Bitmap,
): void {
  for (let q = (first + 31) >>> 5; q << 5 < n; q++) out[q] = 0
  for (let row = first; row < n; row++) {
    const bit = 1 << (row & 31)
    if ((need[row >>> 5]! & bit) !== 0 && matches(bytes, offsets[row]!, offsets[row + 1]!))
      out[row >>> 5]! |= bit
  }
}

/** Removes the rows of `out` that do not match. */
export function verify(matches: Matches, { bytes, offsets }: Texts, n: number, out: Bitmap): void {
  for (let q = 0; q << 5 < n; q++) {
    for (let rest = out[q]!; rest !== 0; rest &= rest - 1) {
      const bit = rest & -rest
      const row = (q << 5) + 31 - Math.clz32(bit)
      if (!matches(bytes, offsets[row]!, offsets[row + 1]!)) out[q]! &= ~bit
    }
  }
}
