import type { Texts } from './vector.ts'

/** What is known about a slice of a column's bytes: its end, and whether it is ASCII. */
const found = new WeakMap<Uint8Array, Map<number, readonly [end: number, isAscii: boolean]>>()

/** Whether `n` texts are ASCII. The result is cached, as finding it takes longer than what callers do with it. */
export function isAscii({ bytes, offsets }: Pick<Texts, 'bytes' | 'offsets'>, n: number): boolean {
  const start = offsets[0]!
  const end = offsets[n]!
  const slices = found.get(bytes) ?? new Map<number, readonly [number, boolean]>()
  const known = slices.get(start)
  if (known?.[0] === end) return known[1]
  const result = areAscii(bytes.subarray(start, end))
  found.set(bytes, slices.set(start, [end, result]))
  return result
}

function areAscii(bytes: Uint8Array): boolean {
  const { buffer, byteOffset, length } = bytes
  // Fewer bytes than a word may end before the first whole word begins.
  if (length < 4) return bytes.every((byte) => byte < 0x80)
  const head = -byteOffset & 3
  const words = new Int32Array(buffer, byteOffset + head, (length - head) >> 2)
  let seen = 0
  for (let i = 0; i < head; i++) seen |= bytes[i]!
  for (let i = head + words.length * 4; i < length; i++) seen |= bytes[i]!
  for (let i = 0; i < words.length; i++) seen |= words[i]!
  return (seen & 0x80808080) === 0
}
