import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ValueMap } from '../../../src/engine/arrow/value-map.ts'

const lengths = [0, 1, 16_382, 16_383, 16_384, 20_000]
const text = fc
  .tuple(fc.constantFrom(...lengths), fc.constantFrom('', 'a', 'b', 'ä', '\0'))
  .map(([length, end]) => 'xy'.repeat(length / 2) + end)
const values = {
  texts: text,
  bytes: text.map((one) => new Uint8Array(Buffer.from(one))),
  numbers: fc.constantFrom(0, -0, 1, Number.NaN, Number.POSITIVE_INFINITY),
  'large integers': fc.constantFrom(0n, 1n, 2n ** 64n),
}

test.each(Object.entries(values))('%s are found by their content', (_, value) => {
  fc.assert(
    fc.property(fc.array(value as fc.Arbitrary<unknown>, { maxLength: 30 }), (drawn) => {
      const map = new ValueMap()
      const model: unknown[] = []
      const isEqual = (a: unknown, b: unknown) =>
        a instanceof Uint8Array ? Buffer.compare(a, b as Uint8Array) === 0 : a === b || Object.is(a, b)
      for (const one of drawn) {
        const known = model.findIndex((other) => isEqual(other, one))
        expect(map.get(one)).toBe(known < 0 ? undefined : known)
        expect(map.add(one, model.length)).toBe(known < 0 ? model.length : known)
        if (known < 0) model.push(one)
      }
    }),
  )
})

// A Map would take a minute for these: V8 hashes long texts by their length alone.
test('thousands of long texts of one length take no longer than others', () => {
  const map = new ValueMap()
  for (let i = 0; i < 6_000; i++) map.add('x'.repeat(16_384) + String(i).padStart(8, '0'), i)
  expect(map.get(`${'x'.repeat(16_384)}00005999`)).toBe(5_999)
})
