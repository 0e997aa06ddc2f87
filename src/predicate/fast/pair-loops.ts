import type { Bitmap } from '../../arrow/bitmap.ts'

/*
 * Loops that write the rows of `need` for which a comparison of two arrays holds into `out`. Each is written out for one kind of
 * array: a loop that meets a second kind becomes 10 to 30 times slower. The bits of a word are gathered from the last
 * row to the first, without a branch: 1.6 ns a row, as in a loop that was generated and unrolled.
 */

export function belowInts(v: Int32Array, u: Int32Array, n: number, need: Bitmap, out: Bitmap): void {
  for (let i = 0, q = 0; i < n; i += 32, q++) {
    let word = 0
    if (need[q] !== 0)
      for (let k = Math.min(i + 32, n) - 1; k >= i; k--) word = (word << 1) | +(v[k]! < u[k]!)
    out[q] = word & need[q]!
  }
}

export function equalInts(v: Int32Array, u: Int32Array, n: number, need: Bitmap, out: Bitmap): void {
  for (let i = 0, q = 0; i < n; i += 32, q++) {
    let word = 0
    if (need[q] !== 0)
      for (let k = Math.min(i + 32, n) - 1; k >= i; k--) word = (word << 1) | +(v[k] === u[k])
    out[q] = word & need[q]!
  }
}

/** NaN is above every other number. */
export function belowDoubles(v: Float64Array, u: Float64Array, n: number, need: Bitmap, out: Bitmap): void {
  for (let i = 0, q = 0; i < n; i += 32, q++) {
    let word = 0
    if (need[q] !== 0)
      for (let k = Math.min(i + 32, n) - 1; k >= i; k--)
        word = (word << 1) | (+!(u[k]! <= v[k]!) & +!Number.isNaN(v[k]!))
    out[q] = word & need[q]!
  }
}

/** NaN is equal to itself. */
export function equalDoubles(v: Float64Array, u: Float64Array, n: number, need: Bitmap, out: Bitmap): void {
  for (let i = 0, q = 0; i < n; i += 32, q++) {
    let word = 0
    if (need[q] !== 0)
      for (let k = Math.min(i + 32, n) - 1; k >= i; k--)
        word = (word << 1) | (+(v[k] === u[k]) | (+Number.isNaN(v[k]!) & +Number.isNaN(u[k]!)))
    out[q] = word & need[q]!
  }
}

export function belowLongs(v: BigInt64Array, u: BigInt64Array, n: number, need: Bitmap, out: Bitmap): void {
  for (let i = 0, q = 0; i < n; i += 32, q++) {
    let word = 0
    if (need[q] !== 0)
      for (let k = Math.min(i + 32, n) - 1; k >= i; k--) word = (word << 1) | +(v[k]! < u[k]!)
    out[q] = word & need[q]!
  }
}

export function equalLongs(v: BigInt64Array, u: BigInt64Array, n: number, need: Bitmap, out: Bitmap): void {
  for (let i = 0, q = 0; i < n; i += 32, q++) {
    let word = 0
    if (need[q] !== 0)
      for (let k = Math.min(i + 32, n) - 1; k >= i; k--) word = (word << 1) | +(v[k] === u[k])
    out[q] = word & need[q]!
  }
}
