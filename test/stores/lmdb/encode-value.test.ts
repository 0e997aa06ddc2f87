import { crc32 } from 'node:zlib'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Key, Value } from '../../../src/base/store/store.ts'
import { readCompact, writeCompact } from '../../../src/stores/lmdb/compact-value.ts'
import {
  crcOf,
  decodeValue,
  encodeAsJson,
  encodeValue,
  sealed,
  sealFault,
} from '../../../src/stores/lmdb/encode-value.ts'
import { knownTexts } from '../../../src/stores/lmdb/known-texts.ts'

const target = Buffer.alloc(1 << 14)

const ulid = fc.stringMatching(/^[0-9A-HJKMNP-TV-Z]{26}$/)
const text = fc.oneof(
  fc.string({ maxLength: 40 }),
  fc.string({ unit: 'binary', maxLength: 8 }),
  fc.string({ minLength: 1_020, maxLength: 1_030 }),
  fc.constantFrom('__proto__', 'toJSON', '\ud800', 'ü'.repeat(20), ...knownTexts),
  ulid,
)
const number = fc.oneof(fc.maxSafeNat(), fc.nat(1_000), fc.maxSafeInteger(), fc.double())
const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 6 },
    text,
    number,
    fc.constantFrom(true, false, null),
    fc.array(tie('value'), { maxLength: 20 }),
    fc.dictionary(text, fc.option(tie('value'), { nil: undefined }), { maxKeys: 20, noNullPrototype: false }),
  ),
}))
const key = fc.array(fc.oneof(text, number), { minLength: 1, maxLength: 5 })

/** The bytes that the driver writes. */
function bytesOf(encoded: object): Buffer {
  const [piece] = Object.values(encoded) as [Buffer & { start: number; end: number }]
  return Buffer.from(piece.subarray(piece.start, piece.end))
}

/** The driver reads most values into one buffer, whose length it sets. */
function likeTheDriver(bytes: Buffer): Buffer {
  const shared = Buffer.alloc(bytes.length + 40, 'x')
  bytes.copy(shared)
  return Object.defineProperty(shared, 'length', { value: bytes.length })
}

test('what is read is what JSON would give, and the checksum holds', () => {
  let compact = 0
  fc.assert(
    fc.property(key as fc.Arbitrary<Key>, value as fc.Arbitrary<Value>, (key, value) => {
      const bytes = bytesOf(encodeValue(key, value))
      if (bytes[0] === 1) compact++
      const json = JSON.stringify(value)
      expect(JSON.stringify(decodeValue(likeTheDriver(bytes)))).toBe(json)
      expect(decodeValue(bytes)).toEqual(JSON.parse(json))
      expect(sealFault(key, bytes)).toBeUndefined()
      expect(sealFault([...key, 'other'], bytes)).toBe('damaged')
    }),
    { numRuns: 500 },
  )
  expect(compact).toBeGreaterThan(50)
})

test('a flipped bit is found, and whatever bytes are read, the outcome is a value or a SyntaxError', () => {
  fc.assert(
    fc.property(key as fc.Arbitrary<Key>, value as fc.Arbitrary<Value>, fc.nat(), (key, value, at) => {
      const bytes = bytesOf(encodeValue(key, value))
      bytes[(at >>> 3) % bytes.length]! ^= 1 << (at & 7)
      expect(sealFault(key, bytes)).toBe('damaged')
      try {
        decodeValue(bytes)
      } catch (error) {
        expect(error).toBeInstanceOf(SyntaxError)
      }
    }),
    { numRuns: 500 },
  )
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
      try {
        decodeValue(Buffer.from([1, ...bytes]))
      } catch (error) {
        expect(error).toBeInstanceOf(SyntaxError)
      }
    }),
    { numRuns: 1_000 },
  )
})

test('records as catalogs keep them are compact, and take less than half of their JSON', () => {
  const key = ['n', '01KD3J6ZJ4YWQ5G8N2V7C9X0A1', 't', 'flights 2026']
  const change = { operation: 'DeclareTable', kind: 'table', id: ['ns', 'flights'], effect: 'created' }
  for (const value of [
    { v: 1, id: key[1]!, created_at: 1_795_276_027_000, properties: { owner: 'me', none: undefined } },
    { v: 1, transaction: key[1]!, time: 1_795_276_027_000, changes: [change] },
    { v: 1, changes: [{ id: ['ns'], effect: 'changed', versions: [{ branch: 'b', first: 2, last: 2 }] }] },
  ]) {
    const bytes = bytesOf(encodeValue(key, value))
    expect(bytes[0]).toBe(1)
    expect(bytes.length).toBeLessThan(sealed(key, value).length / 2)
  }
})

test('the numbers of known texts never change', () => {
  // A change here needs a new format of catalogs: existing ones would be read wrongly.
  expect(new Set(knownTexts).size).toBe(knownTexts.length)
  expect(crc32(knownTexts.slice(0, 120).join())).toBe(3_733_462_672)
})

test('what has a form of its own, or is too deep or too large, is left to JSON', () => {
  const cycle: { of?: object } = {}
  cycle.of = cycle
  const nested = [[[[[[1]]]]]]
  const own = Object.assign([1], { toJSON: () => 2 })
  class Odd {}
  const large = Array<string>(20_000).fill('name')
  for (const value of [
    ...[cycle, nested, own, large, { toJSON: () => 3 }, new Date(0), new Odd(), 1.5, -1, [undefined]],
    ...['x'.repeat(1_025), '\ud800', JSON.parse('{"__proto__":1}')],
  ]) {
    expect(writeCompact(value, target, 0)).toBe(-1)
  }
})

test('nothing is written near the end of the buffer, or beyond it', () => {
  const list = Array.from({ length: 20 }, (_, i) => `id_${i}`)
  for (const value of [
    list,
    list.map((_, i) => i + 99),
    { a: { b: list } },
    'x'.repeat(60),
    'ü'.repeat(60),
  ]) {
    for (let length = 0; length < 400; length++) {
      const some = Buffer.alloc(length + 8, 7)
      const end = writeCompact(value, some.subarray(0, length), 0)
      expect([...some.subarray(length)]).toEqual([7, 7, 7, 7, 7, 7, 7, 7])
      if (end >= 0) expect(readCompact(some, 0, end)).toEqual(value)
    }
  }
})

test('values of every length reach the driver whole', () => {
  for (const length of [0, 100, 257, 5_000, 60_000, 10, 200_000, 300]) {
    for (const value of ['x'.repeat(length), { text: 'ü'.repeat(length) }, Array(length).fill('name')]) {
      expect(decodeValue(bytesOf(encodeValue(['k'], value)))).toEqual(value)
      expect(bytesOf(encodeAsJson(['k'], value)).toString() === sealed(['k'], value)).toBe(true)
    }
  }
})

test('a checksum is the one of zlib', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 70 }), fc.nat(70), (bytes, end) => {
      const some = bytes.subarray(0, Math.min(end, bytes.length))
      expect(crcOf(bytes, some.length)).toBe(crc32(some))
    }),
  )
})
