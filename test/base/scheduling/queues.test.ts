import { expect, test } from 'vitest'
import { keyedQueue } from '../../../src/base/scheduling/keyed-queue.ts'
import { semaphore } from '../../../src/base/scheduling/semaphore.ts'

const never = new AbortController().signal

test('work under one key runs one after the other, in order, also after a failure', async () => {
  const run = keyedQueue()
  const seen: string[] = []
  const work =
    (name: string, fails = false) =>
    async () => {
      seen.push(`${name} begins`)
      await null
      seen.push(`${name} ends`)
      if (fails) throw new Error(name)
      return name
    }
  const results = await Promise.allSettled([
    run('a', work('1', true)),
    run('a', work('2')),
    run('b', work('other')),
  ])
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled'])
  expect(seen.filter((what) => !what.startsWith('other'))).toEqual([
    '1 begins',
    '1 ends',
    '2 begins',
    '2 ends',
  ])
  expect(seen.indexOf('other begins')).toBeLessThan(seen.indexOf('2 begins'))
})

test('a semaphore lets its number of permits in, and the others in order', async () => {
  const permits = semaphore(2)
  expect(permits.acquire(never)).toBeUndefined()
  expect(permits.acquire(never)).toBeUndefined()
  const order: number[] = []
  const waiting = [1, 2, 3].map((n) => permits.acquire(never)!.then(() => order.push(n)))
  permits.release()
  await waiting[0]
  expect(order).toEqual([1])
  permits.release()
  permits.release()
  await Promise.all(waiting)
  expect(order).toEqual([1, 2, 3])
})

test('who stops waiting takes no permit', async () => {
  const permits = semaphore(1)
  expect(permits.acquire(never)).toBeUndefined()
  const stop = new AbortController()
  const stopped = permits.acquire(stop.signal)
  const next = permits.acquire(never)
  stop.abort(new Error('stopped'))
  await expect(stopped).rejects.toThrow('stopped')
  permits.release()
  await next
  permits.release()
  expect(permits.acquire(never)).toBeUndefined()
})
