import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { memoryContent } from '../../src/content/memory/index.ts'
import { Shelves } from '../../src/content/memory/path-map.ts'
import { bytesOf, paths, text } from '../../src/testing/suites/content/trial.ts'
import { contentSuite } from '../../src/testing/suites/content-suite.ts'

contentSuite({ describe, test }, () => ({ open: memoryContent }), { name: 'the memory content' })

test('a fork begins with what its origin held, and both go their own ways', async () => {
  const origin = memoryContent()
  for (let i = 0; i < 2000; i++) await origin.put(`t/${i}`, bytesOf(`${i}`))
  const fork = origin.fork()
  await fork.remove('t/')
  await fork.put('t/7', bytesOf('fork'))
  await origin.put('t/more', bytesOf('origin'))
  expect(await paths(fork, '')).toEqual(['t/7'])
  expect(await text(origin, 't/7')).toBe('7')
  expect(await paths(origin, 't/')).toHaveLength(2001)
})

test('what was forked can be restored any number of times', async () => {
  const content = memoryContent()
  await content.put('a', bytesOf('a'))
  const kept = content.fork()
  for (let round = 0; round < 3; round++) {
    await content.remove('a')
    await content.put('b', bytesOf('b'))
    content.restore(kept)
    await content.put('c', bytesOf('c'))
    expect(await paths(content, '')).toEqual(['a', 'c'])
  }
  expect(await paths(kept, '')).toEqual(['a'])
})

test('shelves hold what a map holds after any series of changes', () => {
  const change = fc.record({
    from: fc.nat(900),
    count: fc.nat(700),
    what: fc.constantFrom('put', 'put', 'remove', 'removeAll'),
  })
  fc.assert(
    fc.property(fc.array(change, { maxLength: 12 }), (changes) => {
      const model = new Map<string, number>()
      let shelves = new Shelves<number>()
      const name = (i: number) => `${'abcd'[i % 4]}/${(i * 31) % 1009}`
      for (const { from, count, what } of changes) {
        if (what === 'removeAll') {
          shelves = shelves.without(`${'abcd'[from % 4]}/`)
          for (const path of model.keys()) if (path.startsWith(`${'abcd'[from % 4]}/`)) model.delete(path)
          continue
        }
        for (let i = from; i < from + count; i++) {
          shelves = what === 'put' ? shelves.with(name(i), i) : shelves.without(name(i))
          if (what === 'put') model.set(name(i), i)
          else model.delete(name(i))
        }
      }
      const expected = [...model].sort(([a], [b]) => (a < b ? -1 : 1))
      expect([...shelves.under('')]).toEqual(expected)
      expect([...shelves.under('b/')]).toEqual(expected.filter(([path]) => path.startsWith('b/')))
      for (let i = 0; i < 1009; i += 13) expect(shelves.get(name(i))).toBe(model.get(name(i)))
    }),
    { numRuns: 50 },
  )
})
