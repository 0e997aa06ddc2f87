/**
 * A set of rows, one bit each: bit `i % 32` of word `i / 32` stands for row `i`, least significant bit first,
 * which is the order of Arrow's validity buffers. Bits past the last row are always 0.
 *
 * A bitmap may be longer than its rows need, so functions that write one take the number of words.
 */
export type Bitmap = Uint32Array

/** How many words hold `length` bits. */
export function wordsFor(length: number): number {
  return (length + 31) >>> 5
}

/** A bitmap with no row in it. */
export function noRows(length: number): Bitmap {
  return new Uint32Array(wordsFor(length))
}

/** A bitmap of all `length` rows. */
export function allRows(length: number): Bitmap {
  const bitmap = noRows(length)
  setFirst(bitmap, length)
  return bitmap
}

/** Sets the first `length` bits, and clears the rest of the last word they reach. */
export function setFirst(bitmap: Bitmap, length: number): void {
  bitmap.fill(0xffffffff, 0, wordsFor(length))
  clearTrailing(bitmap, length)
}

/** Clears the bits past `length` in the last of its words. */
export function clearTrailing(bitmap: Bitmap, length: number): void {
  if ((length & 31) !== 0) bitmap[length >>> 5]! &= (1 << (length & 31)) - 1
}

/**
 * Reads `length` bits of Arrow's bit-packed bytes (a validity buffer, boolean values) from bit `start` on,
 * a multiple of 8. Bytes that are missing count as 0.
 */
export function readBits(
  bytes: Uint8Array,
  start: number,
  length: number,
  into: Bitmap = noRows(length),
): Bitmap {
  const words = wordsFor(length)
  const source = bytes.subarray(start >>> 3, (start + length + 7) >>> 3)
  // Arrow's bytes viewed as words are little-endian. All code that views Arrow's buffers relies on it.
  const target = new Uint8Array(into.buffer, into.byteOffset, words * 4)
  target.set(source)
  target.fill(0, source.length)
  clearTrailing(into, length)
  return into
}

export function hasRow(bitmap: Bitmap, row: number): boolean {
  return ((bitmap[row >>> 5]! >>> (row & 31)) & 1) === 1
}

export function addRow(bitmap: Bitmap, row: number): void {
  bitmap[row >>> 5]! |= 1 << (row & 31)
}

/** Takes away the rows from `start` up to `end`. */
export function clearRange(bitmap: Bitmap, start: number, end: number): void {
  const first = start >>> 5
  const last = end >>> 5
  const before = (1 << (start & 31)) - 1
  const after = ~((1 << (end & 31)) - 1)
  if (first === last) {
    if (start < end) bitmap[first]! &= before | after
    return
  }
  bitmap[first]! &= before
  bitmap.fill(0, first + 1, last)
  if ((end & 31) !== 0) bitmap[last]! &= after
}

/** Writes the rows in both to `out`, which may be `a` or `b`. */
export function intersect(a: Bitmap, b: Bitmap, out: Bitmap, words: number): void {
  for (let q = 0; q < words; q++) out[q] = a[q]! & b[q]!
}

/** Writes the rows in either to `out`, which may be `a` or `b`. */
export function union(a: Bitmap, b: Bitmap, out: Bitmap, words: number): void {
  for (let q = 0; q < words; q++) out[q] = a[q]! | b[q]!
}

/** Writes the rows in `a` and not in `b` to `out`, which may be `a` or `b`. */
export function subtract(a: Bitmap, b: Bitmap, out: Bitmap, words: number): void {
  for (let q = 0; q < words; q++) out[q] = a[q]! & ~b[q]!
}

/** Copies the first `words` words. */
export function copyRows(from: Bitmap, to: Bitmap, words: number): void {
  for (let q = 0; q < words; q++) to[q] = from[q]!
}

export function isEmpty(bitmap: Bitmap, words: number = bitmap.length): boolean {
  for (let q = 0; q < words; q++) if (bitmap[q] !== 0) return false
  return true
}

/** How many rows a bitmap holds in its first `words` words. */
export function countRows(bitmap: Bitmap, words: number = bitmap.length): number {
  let sum = 0
  for (let q = 0; q < words; q++) sum += bitsOf(bitmap[q]!)
  return sum
}

/** Calls `visit` with each row in order. */
export function forEachRow(
  bitmap: Bitmap,
  visit: (row: number) => void,
  words: number = bitmap.length,
): void {
  for (let q = 0; q < words; q++) {
    for (let word = bitmap[q]!; word !== 0; word &= word - 1) {
      visit((q << 5) + 31 - Math.clz32(word & -word))
    }
  }
}

/** Each row in order. In hot loops `forEachRow` is faster. */
export function* rowsIn(bitmap: Bitmap): Generator<number> {
  for (let q = 0; q < bitmap.length; q++) {
    for (let word = bitmap[q]!; word !== 0; word &= word - 1) {
      yield (q << 5) + 31 - Math.clz32(word & -word)
    }
  }
}

/* Bit-packed bytes as in Arrow: bit `i` of a buffer is bit `i % 8` of byte `i / 8`. */

/** How many of the first `count` bits are set. */
export function countBits(bytes: Uint8Array, count: number): number {
  const whole = count >> 3
  let sum = 0
  let i = 0
  // Four bytes at a time once they are aligned.
  for (; i < whole && (bytes.byteOffset + i) % 4 !== 0; i++) sum += bitsOf(bytes[i]!)
  if (whole - i >= 4) {
    const words = new Uint32Array(bytes.buffer, bytes.byteOffset + i, (whole - i) >> 2)
    for (let w = 0; w < words.length; w++) sum += bitsOf(words[w]!)
    i += words.length * 4
  }
  for (; i < whole; i++) sum += bitsOf(bytes[i]!)
  if ((count & 7) !== 0) sum += bitsOf(bytes[whole]! & ((1 << (count & 7)) - 1))
  return sum
}

/** Set bits of a 32-bit word. Source: Hacker's Delight, figure 5-2. */
export function bitsOf(word: number): number {
  let x = word - ((word >>> 1) & 0x55555555)
  x = (x & 0x33333333) + ((x >>> 2) & 0x33333333)
  x = (x + (x >>> 4)) & 0x0f0f0f0f
  return Math.imul(x, 0x01010101) >>> 24
}

/** Sets `count` bits from `start` on. */
export function fillBits(bytes: Uint8Array, start: number, count: number): void {
  const end = start + count
  let i = start
  for (; i < end && (i & 7) !== 0; i++) bytes[i >> 3]! |= 1 << (i & 7)
  const wholeEnd = end & ~7
  if (i < wholeEnd) {
    bytes.fill(255, i >> 3, wholeEnd >> 3)
    i = wholeEnd
  }
  for (; i < end; i++) bytes[i >> 3]! |= 1 << (i & 7)
}

/** Copies `count` bits into a target whose bits there must be 0. */
export function copyBits(
  source: Uint8Array,
  from: number,
  target: Uint8Array,
  to: number,
  count: number,
): void {
  let i = 0
  for (; i < count && ((to + i) & 7) !== 0; i++) copyBit(source, from + i, target, to + i)
  const shift = (from + i) & 7
  const whole = (count - i) >> 3
  const s = (from + i) >> 3
  const t = (to + i) >> 3
  if (shift === 0) {
    target.set(source.subarray(s, s + whole), t)
  } else {
    for (let b = 0; b < whole; b++)
      target[t + b] = (source[s + b]! >> shift) | (source[s + b + 1]! << (8 - shift))
  }
  for (i += whole * 8; i < count; i++) copyBit(source, from + i, target, to + i)
}

function copyBit(source: Uint8Array, from: number, target: Uint8Array, to: number): void {
  target[to >> 3]! |= ((source[from >> 3]! >> (from & 7)) & 1) << (to & 7)
}

/** Whether a bit is set. */
export function getBit(bytes: Uint8Array, index: number): boolean {
  return ((bytes[index >> 3]! >> (index & 7)) & 1) === 1
}
