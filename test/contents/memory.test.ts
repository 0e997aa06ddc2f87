import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { memoryContent } from '../../src/contents/memory/index.ts'
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

test('a memory content holds what a map holds after any series of changes', async () => {
  const change = fc.record({
    from: fc.nat(200),
    count: fc.nat(150),
    what: fc.constantFrom('put', 'put', 'remove', 'removeAll'),
  })
  const folders = ['a', 'b', 'b0', 'b-']
  await fc.assert(
    fc.asyncProperty(fc.array(change, { maxLength: 12 }), async (changes) => {
      const model = new Map<string, string>()
      const content = memoryContent()
      const name = (i: number) => `${folders[i % 4]}/${(i * 31) % 211}`
      for (const { from, count, what } of changes) {
        if (what === 'removeAll') {
          const folder = `${folders[from % 4]}/`
          await content.remove(folder)
          for (const path of model.keys()) if (path.startsWith(folder)) model.delete(path)
          continue
        }
        for (let i = from; i < from + count; i++) {
          if (what === 'remove') {
            await content.remove(name(i))
            model.delete(name(i))
          } else if (!model.has(name(i))) {
            await content.put(name(i), bytesOf(`${i}`))
            model.set(name(i), `${i}`)
          }
        }
      }
      const expected = [...model.keys()].sort()
      expect(await paths(content, '')).toEqual(expected)
      expect(await paths(content, 'b/')).toEqual(expected.filter((path) => path.startsWith('b/')))
      for (let i = 0; i < 211; i += 3) {
        const bytes = await content.get(name(i))
        expect(bytes && new TextDecoder().decode(bytes)).toBe(model.get(name(i)))
      }
    }),
    { numRuns: 50 },
  )
})
