import type { Bitmap } from '../../arrow/bitmap.ts'

/** Asks `holds` for each row of `need`, and writes those it says yes to into `out`. */
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
