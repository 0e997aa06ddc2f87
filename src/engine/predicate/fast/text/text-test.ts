import type { Bitmap } from '../../../arrow/bitmap.ts'
import { eachNeeded } from '../../evaluate/each-needed.ts'
import type { Matches } from '../../evaluate/text-pattern.ts'
import type { Texts } from '../../evaluate/vector.ts'

/** A question asked of texts: writes the rows of `need` it is true of into `out`. */
export type TextTest = (texts: Texts, n: number, need: Bitmap, out: Bitmap) => void

/** Asks of each needed row by itself. */
export function eachText(matches: Matches): TextTest {
  return ({ bytes, offsets }, n, need, out) =>
    eachNeeded(n, need, out, (row) => matches(bytes, offsets[row]!, offsets[row + 1]!))
}

/**
 * The bytes from where they begin to where their buffer ends, to read words of 4 bytes from whatever follows
 * them; and the first how many of `n` texts begin at least 8 bytes before that end.
 */
export function readable({ bytes, offsets }: Texts, n: number): { view: DataView; safe: number } {
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

/** Adds the rows from `first` to `n` of `need` that match to `out`, of which only earlier rows are written. */
export function finish(
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

/** Keeps those rows of `out` that match. */
export function verify(matches: Matches, { bytes, offsets }: Texts, n: number, out: Bitmap): void {
  for (let q = 0; q << 5 < n; q++) {
    for (let rest = out[q]!; rest !== 0; rest &= rest - 1) {
      const bit = rest & -rest
      const row = (q << 5) + 31 - Math.clz32(bit)
      if (!matches(bytes, offsets[row]!, offsets[row + 1]!)) out[q]! &= ~bit
    }
  }
}
