import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { prefetch } from '../../../src/base/scheduling/prefetch.ts'

async function collect(depth: number, failing?: number) {
  let running = 0
  let most = 0
  const done: number[] = []
  const work = async (item: number) => {
    most = Math.max(most, ++running)
    // So that later items may end before earlier ones.
    await sleep((item * 7) % 5)
    running--
    if (item === failing) throw new Error(`item ${item}`)
    return item
  }
  const items = Array.from({ length: 20 }, (_, i) => i)
  let failure: unknown
  try {
    for await (const item of prefetch(items, work, { depth })) done.push(item)
  } catch (error) {
    failure = error
  }
  return { done, most, running, failure }
}

test.each([1, 2, 5])('results come in order, %i ahead and no more', async (depth) => {
  const { done, most, running } = await collect(depth)
  expect(done).toEqual(Array.from({ length: 20 }, (_, i) => i))
  expect(most).toBe(depth + 1)
  expect(running).toBe(0)
})

test('what fails ends it in its turn, once nothing is under way any more', async () => {
  const { done, running, failure } = await collect(3, 6)
  expect(done).toEqual([0, 1, 2, 3, 4, 5])
  expect(failure).toEqual(new Error('item 6'))
  expect(running).toBe(0)
})
