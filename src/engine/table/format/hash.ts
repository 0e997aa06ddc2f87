/*
 * The steps of MurmurHash3, and the hashes of values in files of indexes. The latter are part of the format: a change
 * would make every index file wrong.
 */

/** A step of MurmurHash3. */
export function mixed(hash: number, word: number): number {
  let k = Math.imul(word, 0xcc9e2d51)
  k = Math.imul((k << 15) | (k >>> 17), 0x1b873593)
  const h = hash ^ k
  return (Math.imul((h << 13) | (h >>> 19), 5) + 0xe6546b64) >>> 0
}

/** The last step of MurmurHash3. */
export function finished(hash: number): number {
  let h = hash ^ (hash >>> 16)
  h = Math.imul(h, 0x85ebca6b)
  h ^= h >>> 13
  h = Math.imul(h, 0xc2b2ae35)
  return (h ^ (h >>> 16)) >>> 0
}

/** The hash of 64 bits. */
export function hashOfWords(low: number, high: number): number {
  return finished(mixed(mixed(0, low), high))
}

/** The hash of some bytes. */
export function hashOfBytes(bytes: Uint8Array, from: number, to: number): number {
  let hash = mixed(0, to - from)
  let at = from
  for (; at + 4 <= to; at += 4) {
    hash = mixed(hash, bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24))
  }
  let rest = 0
  for (; at < to; at++) rest = (rest << 8) | bytes[at]!
  return finished(mixed(hash, rest))
}
