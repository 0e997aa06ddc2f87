import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { RecordCache } from '../../../src/stores/postgres/record-cache.ts'

const key = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g')
const step = fc.oneof(
  fc.record({ kind: fc.constantFrom('found', 'keep'), key, version: fc.integer({ min: 1, max: 3 }) }),
  fc.record({ kind: fc.constant('absent'), key, version: fc.constant(0) }),
)
const textOf = (key: string, version: number) => JSON.stringify({ key, version })
/** As the cache counts those of a record that is there. */
const bytesOf = (key: string) => key.length + textOf(key, 1).length + 200

describe('the cache of records', () => {
  test('has what was found last, or nothing, and what was found lately for sure', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), fc.integer({ min: 1, max: 8 }), (steps, room) => {
        const cache = new RecordCache(room * bytesOf('a'))
        const last = new Map<string, number>()
        let lately: string[] = []
        for (const { kind, key, version } of steps) {
          lately = lately.filter((one) => one !== key)
          if (kind === 'absent') {
            cache.keepAbsent(key)
          } else {
            const text = textOf(key, version)
            const got =
              kind === 'keep'
                ? cache.keep(key, `${version}`, text, { key, version })
                : cache.found(key, `${version}`, text)
            expect(got).toMatchObject({ version: `${version}`, value: { key, version } })
          }
          last.set(key, version)
          lately.unshift(key)
          const kept = ['a', 'b', 'c', 'd', 'e', 'f', 'g'].filter((one) => {
            const found = cache.get(one)
            if (found !== undefined) expect(Number(found?.version ?? 0)).toBe(last.get(one))
            return found !== undefined
          })
          // Each generation has half of the room, and one record more at most.
          expect(kept.length).toBeLessThanOrEqual(room + 2)
          expect(kept).toEqual(expect.arrayContaining(lately.slice(0, Math.floor(room / 2))))
        }
      }),
      { numRuns: 500 },
    )
  })

  test('parses a record once while it stays', () => {
    const cache = new RecordCache()
    const first = cache.found('a', '1', '{"n":1}')
    expect(cache.found('a', '1', 'not read again')).toBe(first)
    expect(cache.found('a', '2', '{"n":2}')).toMatchObject({ version: '2', value: { n: 2 } })
  })

  test('keeps a record that is found again and again, while many others pass', () => {
    const cache = new RecordCache(20 * bytesOf('a'))
    const first = cache.found('a', '1', '{}')
    for (let i = 0; i < 1_000; i++) {
      cache.keep(`other ${i}`, '1', '{}', {})
      expect(cache.found('a', '1', '{}')).toBe(first)
    }
    expect(cache.get('other 1')).toBeUndefined()
  })
})
