import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ByteCache } from '../../../../src/engine/table/storage/cache.ts'

const load = (value: string, log: string[]) => async () => {
  log.push(value)
  return value
}

test('keeps what was used last, up to its limit', async () => {
  const cache = new ByteCache(100)
  const log: string[] = []
  const get = (key: string) => cache.get(key, () => 40, load(key, log))
  await get('a')
  await get('b')
  await get('a')
  await get('c') // b goes
  await get('a')
  expect(cache.bytes).toBe(80)
  await get('b')
  expect(log).toEqual(['a', 'b', 'c', 'b'])
})

test('those who ask at once share one read, and a failed read is tried again', async () => {
  const cache = new ByteCache(100)
  let reads = 0
  const read = async () => {
    reads++
    if (reads === 1) throw new Error('no')
    return 'yes'
  }
  const both = await Promise.allSettled([cache.get('k', () => 1, read), cache.get('k', () => 1, read)])
  expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  expect(reads).toBe(1)
  expect(await Promise.all([cache.get('k', () => 1, read), cache.get('k', () => 1, read)])).toEqual([
    'yes',
    'yes',
  ])
  expect(reads).toBe(2)
})

test('keeps nothing with a limit of 0', async () => {
  const cache = new ByteCache(0)
  const log: string[] = []
  await cache.get('a', () => 1, load('a', log))
  await cache.get('a', () => 1, load('a', log))
  expect(log).toEqual(['a', 'a'])
  expect(cache.bytes).toBe(0)
})

test('a value of which parts are asked for pays once they cost as much, if all such values have room', () => {
  const cache = new ByteCache(100)
  expect([cache.shouldLoad('a', 60, 40), cache.shouldLoad('a', 60, 40)]).toEqual([false, true])
  // It was driven out, and is asked for again.
  expect(cache.shouldLoad('a', 60, 1)).toBe(true)
  for (let turn = 0; turn < 10; turn++) {
    expect(cache.shouldLoad('b', 60, 40)).toBe(false)
    expect(cache.shouldLoad('a', 60, 40)).toBe(false)
  }
  // Those that nobody asks for any more are forgotten.
  for (let i = 0; i < 80; i++) cache.shouldLoad(`small ${i % 41}`, 10, 1)
  for (let i = 0; i < 10; i++) cache.shouldLoad('huge', 101, 1_000)
  expect(cache.shouldLoad('b', 60, 1_000)).toBe(false)
  expect(new ByteCache(0).shouldLoad('a', 1, 2)).toBe(false)
})

test('an index needs room beside other indexes only, and pays again when it was driven out', () => {
  const cache = new ByteCache(100)
  cache.shouldLoad('column', 90, 1)
  expect([cache.shouldLoadIndex('a', 60, 40), cache.shouldLoadIndex('a', 60, 40)]).toEqual([false, true])
  expect([cache.shouldLoadIndex('a', 60, 40), cache.shouldLoadIndex('a', 60, 40)]).toEqual([false, true])
  for (let turn = 0; turn < 4; turn++) {
    expect(cache.shouldLoadIndex('b', 60, 40)).toBe(false)
    expect(cache.shouldLoadIndex('a', 60, 40)).toBe(false)
  }
})

test('under any use, it keeps its limit and answers with the value of the key', async () => {
  const use = fc.record({
    key: fc.integer({ min: 0, max: 12 }).map(String),
    size: fc.integer({ min: 0, max: 30 }),
    kind: fc.constantFrom('get', 'get', 'made', 'keepMade', 'giveWay'),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(use, { maxLength: 200 }), async (uses) => {
      const cache = new ByteCache(100)
      const read = (key: string, size: number) => cache.get(key, () => size, load(key, []))
      for (const { key, size, kind } of uses) {
        if (kind === 'get') expect(await read(key, size)).toBe(key)
        else if (kind === 'made') expect([undefined, key]).toContain(cache.made(`made ${key}`))
        else if (kind === 'keepMade') cache.keepMade(`made ${key}`, key, size)
        else cache.giveWay(key)
        expect(cache.bytes).toBeLessThanOrEqual(100)
      }
      // All that is left can be evicted.
      cache.limit = 0
      expect(cache.bytes).toBe(0)
    }),
  )
})

test('of values of one size, what is used between all others stays', async () => {
  const keys = fc.array(fc.integer({ min: 0, max: 12 }).map(String), { maxLength: 200 })
  await fc.assert(
    fc.asyncProperty(keys, async (keys) => {
      const cache = new ByteCache(100)
      const log: string[] = []
      const get = (key: string) => cache.get(key, () => 20, load(key, log))
      for (const key of keys) {
        await get('favourite')
        await get(key)
      }
      expect(log.filter((key) => key === 'favourite').length).toBeLessThanOrEqual(1)
    }),
  )
})
