/** Bit-packed bytes as in Arrow: bit `i` of a buffer is bit `i % 8` of byte `i / 8`. */

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
