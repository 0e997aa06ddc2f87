import fc from 'fast-check'
import { expect, test } from 'vitest'
import { keyedHash } from '../../../../src/engine/table/changes/keyed-hash.ts'

/* An oracle: SipHash as its authors write it, in numbers of 64 bits. */

const mask = (1n << 64n) - 1n
const turn = (value: bigint, bits: bigint) => ((value << bits) | (value >> (64n - bits))) & mask

/** SipHash of 128 bits with so many rounds for each block and at the end. */
function sipHash(key: Uint8Array, message: Uint8Array, rounds: number, lastRounds: number): Uint8Array {
  const word = (bytes: Uint8Array, at: number) =>
    bytes.subarray(at, at + 8).reduce((sum, byte, i) => sum | (BigInt(byte) << BigInt(8 * i)), 0n)
  const [k0, k1] = [word(key, 0), word(key, 8)]
  let [v0, v1] = [k0 ^ 0x736f6d6570736575n, k1 ^ 0x646f72616e646f6dn ^ 0xeen]
  let [v2, v3] = [k0 ^ 0x6c7967656e657261n, k1 ^ 0x7465646279746573n]
  const mix = (times: number) => {
    for (let i = 0; i < times; i++) {
      v0 = (v0 + v1) & mask
      v1 = turn(v1, 13n) ^ v0
      v0 = turn(v0, 32n)
      v2 = (v2 + v3) & mask
      v3 = turn(v3, 16n) ^ v2
      v0 = (v0 + v3) & mask
      v3 = turn(v3, 21n) ^ v0
      v2 = (v2 + v1) & mask
      v1 = turn(v1, 17n) ^ v2
      v2 = turn(v2, 32n)
    }
  }
  for (let at = 0; at <= message.length; at += 8) {
    const isLast = at + 8 > message.length
    const block = word(message, at) | (isLast ? BigInt(message.length & 255) << 56n : 0n)
    v3 ^= block
    mix(rounds)
    v0 ^= block
  }
  const made: bigint[] = []
  v2 ^= 0xeen
  mix(lastRounds)
  made.push(v0 ^ v1 ^ v2 ^ v3)
  v1 ^= 0xddn
  mix(lastRounds)
  made.push(v0 ^ v1 ^ v2 ^ v3)
  return new Uint8Array(BigUint64Array.from(made).buffer)
}

const upTo = (length: number) => Uint8Array.from({ length }, (_, i) => i)
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')

test('the oracle gives the published values of SipHash-2-4 in 128 bits', () => {
  const published = [
    [0, 'a3817f04ba25a8e66df67214c7550293'],
    [1, 'da87c1d86b99af44347659119b22fc45'],
    [63, '5150d1772f50834a503e069a973fbd7c'],
  ] as const
  for (const [length, expected] of published)
    expect(hex(sipHash(upTo(16), upTo(length), 2, 4))).toBe(expected)
})

test('the hash is SipHash-1-3, whatever follows the bytes', () => {
  const key = fc.uint8Array({ minLength: 16, maxLength: 16 })
  fc.assert(
    fc.property(key, fc.uint8Array({ maxLength: 300 }), fc.nat(255), (secret, message, after) => {
      const words = new Uint32Array((message.length >>> 3) * 2 + 2)
      const bytes = new Uint8Array(words.buffer)
      bytes.fill(after)
      bytes.set(message)
      const into = new Uint32Array(6).fill(7)
      keyedHash(new Uint32Array(secret.slice().buffer), words, message.length, into, 1)
      expect([into[0], into[5]]).toEqual([7, 7])
      expect(hex(new Uint8Array(into.slice(1, 5).buffer))).toBe(hex(sipHash(secret, message, 1, 3)))
    }),
    { numRuns: 300 },
  )
})
