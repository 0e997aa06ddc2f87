/** A secret of 128 bits, as words of 32. */
export type HashKey = Uint32Array

/**
 * Writes the SipHash-1-3 of some bytes, in 128 bits, as four words. While its key is secret, nobody can choose bytes whose
 * hashes are equal.
 *
 * The bytes are the first `length` of `words`, little-endian as Arrow's buffers are. The next ones up to a multiple of
 * eight, and eight where `length` is one, must be there, and are overwritten.
 */
export function keyedHash(key: HashKey, words: Uint32Array, length: number, into: Uint32Array, at: number) {
  // Numbers of 64 bits are pairs of words: the higher one is h.
  let v0 = key[0]! ^ 0x70736575
  let v0h = key[1]! ^ 0x736f6d65
  let v1 = key[2]! ^ 0x6e646f6d ^ 0xee
  let v1h = key[3]! ^ 0x646f7261
  let v2 = key[0]! ^ 0x6e657261
  let v2h = key[1]! ^ 0x6c796765
  let v3 = key[2]! ^ 0x79746573
  let v3h = key[3]! ^ 0x74656462
  const blocks = length >>> 3
  endWithLength(words, length)
  for (let block = 0; block <= blocks + 2; block++) {
    const isData = block <= blocks
    const low = isData ? words[block * 2]! : 0
    const high = isData ? words[block * 2 + 1]! : 0
    if (isData) {
      v3 ^= low
      v3h ^= high
    } else if (block === blocks + 1) v2 ^= 0xee
    else v1 ^= 0xdd
    for (let round = isData ? 1 : 3; round > 0; round--) {
      let sum = (v0 + v1) | 0
      v0h = (v0h + v1h + carry(sum, v1)) | 0
      v0 = sum
      let spare = (v1 << 13) | (v1h >>> 19)
      v1h = ((v1h << 13) | (v1 >>> 19)) ^ v0h
      v1 = spare ^ v0
      spare = v0
      v0 = v0h
      v0h = spare

      sum = (v2 + v3) | 0
      v2h = (v2h + v3h + carry(sum, v3)) | 0
      v2 = sum
      spare = (v3 << 16) | (v3h >>> 16)
      v3h = ((v3h << 16) | (v3 >>> 16)) ^ v2h
      v3 = spare ^ v2

      sum = (v0 + v3) | 0
      v0h = (v0h + v3h + carry(sum, v3)) | 0
      v0 = sum
      spare = (v3 << 21) | (v3h >>> 11)
      v3h = ((v3h << 21) | (v3 >>> 11)) ^ v0h
      v3 = spare ^ v0

      sum = (v2 + v1) | 0
      v2h = (v2h + v1h + carry(sum, v1)) | 0
      v2 = sum
      spare = (v1 << 17) | (v1h >>> 15)
      v1h = ((v1h << 17) | (v1 >>> 15)) ^ v2h
      v1 = spare ^ v2
      spare = v2
      v2 = v2h
      v2h = spare
    }
    if (isData) {
      v0 ^= low
      v0h ^= high
    } else {
      into[at++] = v0 ^ v1 ^ v2 ^ v3
      into[at++] = v0h ^ v1h ^ v2h ^ v3h
    }
  }
}

/** Whether a sum of two words, one of which is given, passed 32 bits. */
function carry(sum: number, one: number): 0 | 1 {
  return sum >>> 0 < one >>> 0 ? 1 : 0
}

/** The last block has the rest of the bytes, zeros, and the length. */
function endWithLength(words: Uint32Array, length: number): void {
  const last = (length >>> 3) * 2
  const rest = length & 7
  const low = Math.min(rest, 4)
  const high = rest - low
  words[last] = low === 4 ? words[last]! : words[last]! & ((1 << (low * 8)) - 1)
  words[last + 1] = (words[last + 1]! & ((1 << (high * 8)) - 1)) | (length << 24)
}
