import type { Bitmap } from '../../arrow/bitmap.ts'

/** Calls `holds` for each row of `need`, and writes the rows for which it is true into `out`. */
export function eachNeeded(n: number, need: Bitmap, out: Bitmap, holds: (row: number) => boolean): void {
  for (let q = 0; q << 5 < n; q++) {
    let word = 0
    for (let rest = need[q]!; rest !== 0; rest &= rest - 1) {
      const bit = rest & -rest
      if (holds((q << 5) + 31 - Math.clz32(bit))) word |= bit
    }
    out[q] = word
  }
}
