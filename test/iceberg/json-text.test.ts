import fc from 'fast-check'
import { expect, it } from 'vitest'
import { stringify } from '../../src/iceberg/json.ts'
import { type JsonText, stringifyLong } from '../../src/iceberg/json-text.ts'

const joined = (text: JsonText) => (typeof text === 'string' ? text : Buffer.concat(text).toString('utf8'))

const scalar = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.integer(),
  fc.bigInt(2n ** 53n, 2n ** 63n - 1n),
  fc.constant(null),
)
const item = fc.oneof(
  scalar,
  fc.dictionary(fc.string(), scalar),
  fc.array(fc.dictionary(fc.string(), scalar), { maxLength: 3 }),
)
const huge = ['x'.repeat(200_000), '\u{1F600}'.repeat(100_000), { x: '"'.repeat(100_000) }]

/** A list of so many items that its text has several parts, some of them long themselves. */
const long = fc
  .tuple(fc.array(item, { minLength: 1, maxLength: 8 }), fc.integer({ min: 1_000, max: 3_000 }))
  .map(([few, length]) =>
    Array.from({ length }, (_, i) => ({ i, of: few[i % few.length], text: 'snap'.repeat(20) })),
  )

it('the text of a long value is that of a short one, in parts', async () => {
  await fc.assert(
    fc.asyncProperty(fc.dictionary(fc.string(), item), long, async (members, list) => {
      const value = { ...members, list, huge, 'a list in a list': [list.slice(0, 10), list], end: [] }
      const text = await stringifyLong(value, {})
      expect(typeof text === 'string' || text.every(({ length }) => length > 0)).toBe(true)
      expect(joined(text)).toBe(stringify(value))
    }),
    { numRuns: 10 },
  )
})

it('lists that share items share their parts, and items that were taken out, changed or moved are not there', async () => {
  await fc.assert(
    fc.asyncProperty(long, fc.nat(), fc.nat(), async (list, from, to) => {
      const before = await stringifyLong({ list }, {})
      const [start, end] = [from % list.length, to % list.length]
      const changes = [
        [...list, { i: -1 }],
        list.slice(start),
        list.toSpliced(start, 3),
        list.toSpliced(start, 1, { i: -2, of: null, text: '' }),
        [...list.slice(start), ...list.slice(end)],
        [...list, ...list],
      ]
      for (const changed of changes)
        expect(joined(await stringifyLong({ list: changed }, {}))).toBe(stringify({ list: changed }))
      expect(joined(before)).toBe(stringify({ list }))
    }),
    { numRuns: 10 },
  )
})

it('what was written once is not written again', async () => {
  const list = Array.from({ length: 20_000 }, (_, i) => ({ i, text: 'a summary of a snapshot' }))
  const taken: number[] = []
  const take = (bytes: number) => {
    taken.push(bytes)
    return undefined
  }
  const sum = () => taken.splice(0).reduce((all, bytes) => all + bytes, 0)
  await stringifyLong({ list }, { take })
  const first = sum()
  await stringifyLong({ more: 'members', list: [...list, { i: -1 }] }, { take })
  const second = sum()
  expect(first).toBeGreaterThan(10 * second)
})
