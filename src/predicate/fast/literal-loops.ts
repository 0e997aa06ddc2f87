import type { Bitmap } from '../../arrow/bitmap.ts'

/*
 * Loops that write the rows of `need` for which a comparison holds into `out`. Each is written out for one kind of
 * array: a loop that meets a second kind becomes 10 to 30 times slower. The bits of a word are gathered from the last
 * row to the first, without a branch: 1.6 ns a row, as in a loop that was generated and unrolled.
 */

export function belowInts(v: Int32Array, y: number, n: number, need: Bitmap, out: Bitmap): void {
  for (let i = 0, q = 0; i < n; i += 32, q++) {
    let word = 0
    if (need[q] !== 0) for (let k = Math.min(i + 32, n) - 1; k >= i; k--) word = (word << 1) | +(v[k]! < y)
    out[q] = word & need[q]!
  }
}

export function atMostInts(v: Int32Array, y: number, n: number, need: Bitmap, out: Bitmap): void {
  for (let i = 0, q = 0; i < n; i += 32, q++) {
    let word = 0
    if (need[q] !== 0) for (let k = Math.min(i + 32, n) - 1; k >= i; k--) word = (word << 1) | +(v[k]! <= y)
    out[q] = word & need[q]!
  }
}

export function equalInts(v: Int32Array, y: number, n: number, need: Bitmap, out: Bitmap): void {
  for (let i = 0, q = 0; i < n; i += 32, q++) {
    let word = 0
    if (need[q] !== 0) for (let k = Math.min(i + 32, n) - 1; k >= i; k--) word = (word << 1) | +(v[k]! === y)
    out[q] = word & need[q]!
  }
}

export function belowDoubles(v: Float64Array, y: number, n: number, need: Bitmap, out: Bitmap): void {
  for (let i = 0, q = 0; i < n; i += 32, q++) {
    let word = 0
    if (need[q] !== 0) for (let k = Math.min(i + 32, n) - 1; k >= i; k--) word = (word << 1) | +(v[k]! < y)
    out[q] = word & need[q]!
  }
}

export function atMostDoubles(v: Float64Array, y: number, n: number, need: Bitmap, out: Bitmap): void {
  for (let i = 0, q = 0; i < n; i += 32, q++) {
    let word = 0
    if (need[q] !== 0) for (let k = Math.min(i + 32, n) - 1; k >= i; k--) word = (word << 1) | +(v[k]! <= y)
    out[q] = word & need[q]!
  }
}

export function equalDoubles(v: Float64Array, y: number, n: number, need: Bitmap, out: Bitmap): void {
  for (let i = 0, q = 0; i < n; i += 32, q++) {
    let word = 0
    if (need[q] !== 0) for (let k = Math.min(i + 32, n) - 1; k >= i; k--) word = (word << 1) | +(v[k]! === y)
    out[q] = word & need[q]!
  }
}

export function belowSingles(v: Float32Array, y: number, n: number, need: Bitmap, out: Bitmap): void {
  for (let i = 0, q = 0; i < n; i += 32, q++) {
    let word = 0
    if (need[q] !== 0) for (let k = Math.min(i + 32, n) - 1; k >= i; k--) word = (word << 1) | +(v[k]! < y)
    out[q] = word & need[q]!
  }
}

export function atMostSingles(v: Float32Array, y: number, n: number, need: Bitmap, out: Bitmap): void {
  for (let i = 0, q = 0; i < n; i += 32, q++) {
    let word = 0
    if (need[q] !== 0) for (let k = Math.min(i + 32, n) - 1; k >= i; k--) word = (word << 1) | +(v[k]! <= y)
    out[q] = word & need[q]!
  }
}

export function equalSingles(v: Float32Array, y: number, n: number, need: Bitmap, out: Bitmap): void {
  for (let i = 0, q = 0; i < n; i += 32, q++) {
    let word = 0
    if (need[q] !== 0) for (let k = Math.min(i + 32, n) - 1; k >= i; k--) word = (word << 1) | +(v[k]! === y)
    out[q] = word & need[q]!
  }
}

export function belowLongs(v: BigInt64Array, y: bigint, n: number, need: Bitmap, out: Bitmap): void {
  for (let i = 0, q = 0; i < n; i += 32, q++) {
    let word = 0
    if (need[q] !== 0) for (let k = Math.min(i + 32, n) - 1; k >= i; k--) word = (word << 1) | +(v[k]! < y)
    out[q] = word & need[q]!
  }
}

export function atMostLongs(v: BigInt64Array, y: bigint, n: number, need: Bitmap, out: Bitmap): void {
  for (let i = 0, q = 0; i < n; i += 32, q++) {
    let word = 0
    if (need[q] !== 0) for (let k = Math.min(i + 32, n) - 1; k >= i; k--) word = (word << 1) | +(v[k]! <= y)
    out[q] = word & need[q]!
  }
}

export function equalLongs(v: BigInt64Array, y: bigint, n: number, need: Bitmap, out: Bitmap): void {
  for (let i = 0, q = 0; i < n; i += 32, q++) {
    let word = 0
    if (need[q] !== 0) for (let k = Math.min(i + 32, n) - 1; k >= i; k--) word = (word << 1) | +(v[k]! === y)
    out[q] = word & need[q]!
  }
}
