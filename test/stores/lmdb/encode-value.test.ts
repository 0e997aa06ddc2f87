import { crc32 } from 'node:zlib'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Key, Value } from '../../../src/base/store/store.ts'
import {
  crcOf,
  encodeValue,
  sealed,
  writePlainJson,
  writeSealed,
} from '../../../src/stores/lmdb/encode-value.ts'

const target = Buffer.alloc(1 << 12)

const text = fc.oneof(
  fc.string({ maxLength: 40 }),
  fc.string({ unit: 'binary', maxLength: 8 }),
  fc.string({ minLength: 250, maxLength: 260 }),
)
const number = fc.oneof(fc.maxSafeNat(), fc.nat(1_000), fc.maxSafeInteger(), fc.double())
const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 6 },
    text,
    number,
    fc.constantFrom(true, false, null),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(text, fc.option(tie('value'), { nil: undefined }), { maxKeys: 5, noNullPrototype: false }),
  ),
}))
const key = fc.array(fc.oneof(text, number), { minLength: 1, maxLength: 5 })

test('what is written by hand is what the engine writes, with the same checksum', () => {
  let byHand = 0
  fc.assert(
    fc.property(key as fc.Arbitrary<Key>, value as fc.Arbitrary<Value>, (key, value) => {
      const end = writeSealed(key, value, target)
      if (end < 0) return
      byHand++
      expect(target.toString('utf8', 0, end)).toBe(sealed(key, value))
    }),
    { numRuns: 500 },
  )
  expect(byHand).toBeGreaterThan(20)
})

test('records as catalogs keep them are written by hand', () => {
  const key = ['n', '01KD3J6ZJ4YWQ5G8N2V7C9X0A1', 't', 'flights 2026']
  const numbers = [0, 9, 10, 99, 100, 1_795_276_027_000, Number.MAX_SAFE_INTEGER]
  for (const value of [
    { v: 1, id: key[1]!, created_at: 1_795_276_027_000, properties: { owner: 'me', none: undefined } },
    [key[1]!, 'flights'],
    numbers,
    { main: { latest: null, last: 12 }, 7: [null], empty: {} },
    // An entry of the feed, with the versions of a change.
    { v: 1, changes: [{ id: ['flights'], effect: 'changed', versions: [{ first: 2, last: 2 }] }] },
  ]) {
    const end = writeSealed(key, value, target)
    expect(target.toString('utf8', 0, end)).toBe(sealed(key, value))
  }
})

test('what has a form of its own, or is too deep or too large, is left to the engine', () => {
  const cycle: { of?: object } = {}
  cycle.of = cycle
  const nested = [[[[[[1]]]]]]
  const own = Object.assign([1], { toJSON: () => 2 })
  class Odd {}
  for (const value of [cycle, nested, own, { toJSON: () => 3 }, new Date(0), new Odd(), true, 1.5, -1]) {
    expect(writePlainJson(value, target, 0)).toBe(-1)
  }
})

test('nothing is written near the end of the buffer, or beyond it', () => {
  const written: number[] = []
  const watched = new Proxy(new Uint8Array(64), {
    get: (bytes, name) => Reflect.get(bytes, name, bytes),
    set: (bytes, name, value) => {
      written.push(Number(name))
      return Reflect.set(bytes, name, value, bytes)
    },
  })
  const list = Array.from({ length: 20 }, (_, i) => `id_${i}`)
  for (const value of [list, list.map((_, i) => i), { a: { b: list } }, 'x'.repeat(60)]) {
    expect(writePlainJson(value, watched, 0)).toBe(-1)
  }
  expect(Math.max(...written)).toBeLessThan(64)
  expect(writePlainJson('abc', watched, 45)).toBe(50)
  expect(writePlainJson('abc', watched, 46)).toBe(-1)
  expect(writeSealed(['k'], 'x'.repeat(12), Buffer.alloc(29))).toBe(-1)
  expect(writeSealed(['k'], 'x'.repeat(12), Buffer.alloc(60))).toBe(30)
})

test('values of every length reach the driver whole', () => {
  for (const length of [0, 100, 257, 5_000, 60_000, 10, 200_000, 300]) {
    for (const value of ['x'.repeat(length), { text: 'ü'.repeat(length) }, Array(length).fill('name')]) {
      const [piece] = Object.values(encodeValue(['k'], value)) as unknown[] as [
        Buffer & { start: number; end: number },
      ]
      expect(piece.toString('utf8', piece.start, piece.end) === sealed(['k'], value)).toBe(true)
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
