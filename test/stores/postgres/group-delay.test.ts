import { expect, test } from 'vitest'
import { GroupDelay } from '../../../src/stores/postgres/write-path.ts'

/** Lets a commit of so many bodies begin, while so many more come in a delay. Answers whether there was one. */
async function isDelayed(delay: GroupDelay, count: number, more = 0): Promise<boolean> {
  let waiting = count
  let hasBegun = false
  const done = delay.run(
    () => waiting,
    async () => {
      hasBegun = true
    },
  )
  // A delay needs a turn of the event loop at least.
  for (let i = 0; i < 10; i++) await Promise.resolve()
  const wasDelayed = !hasBegun
  waiting += more
  await done
  expect(hasBegun).toBe(true)
  return wasDelayed
}

test('one caller alone never waits', async () => {
  const delay = new GroupDelay()
  for (let i = 0; i < 10; i++) expect(await isDelayed(delay, 1)).toBe(false)
})

test('a commit waits when fewer bodies are there than usual, and not otherwise', async () => {
  const delay = new GroupDelay()
  expect(await isDelayed(delay, 8)).toBe(false)
  expect(await isDelayed(delay, 8)).toBe(false)
  expect(await isDelayed(delay, 3, 5)).toBe(true)
  expect(await isDelayed(delay, 3, 1)).toBe(true)
  // Eight are not expected any more, but six are.
  expect(await isDelayed(delay, 6)).toBe(false)
  expect(await isDelayed(delay, 5, 1)).toBe(true)
})

test('where delays bring nobody, ever fewer commits wait', async () => {
  const delay = new GroupDelay()
  const delayed: number[] = []
  for (let i = 0; i < 40; i++) {
    await isDelayed(delay, 8)
    if (await isDelayed(delay, 1)) delayed.push(i)
  }
  expect(delayed).toEqual([0, 2, 6, 14, 30])
  // Somebody who comes shows that delays are of use again.
  const again: boolean[] = []
  for (let i = 0; i < 40; i++) {
    await isDelayed(delay, 8)
    again.push(await isDelayed(delay, 1, 3))
  }
  expect(again.lastIndexOf(false)).toBeLessThan(30)
})

test('nobody waits long for those who are gone', async () => {
  const delay = new GroupDelay()
  await isDelayed(delay, 64)
  const delayed: number[] = []
  for (let i = 0; i < 100; i++) if (await isDelayed(delay, 1)) delayed.push(i)
  expect(delayed).toEqual([0, 2, 6])
})
