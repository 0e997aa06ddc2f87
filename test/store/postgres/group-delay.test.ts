import { expect, test } from 'vitest'
import { GroupDelay } from '../../../src/store/postgres/group-delay.ts'

/** Lets a commit of so many bodies begin, while so many more come in a delay. Answers whether there was one. */
async function begins(delay: GroupDelay, count: number, more = 0): Promise<boolean> {
  let waiting = count
  let isOver = false
  const over = delay
    .wait(() => waiting)
    .then(() => {
      isOver = true
    })
  // A delay needs a turn of the event loop at least.
  for (let i = 0; i < 10; i++) await Promise.resolve()
  const isDelayed = !isOver
  waiting += more
  await over
  return isDelayed
}

test('one caller alone never waits', async () => {
  const delay = new GroupDelay()
  for (let i = 0; i < 10; i++) expect(await begins(delay, 1)).toBe(false)
})

test('a commit waits when fewer bodies are there than last time, and not otherwise', async () => {
  const delay = new GroupDelay()
  expect(await begins(delay, 8)).toBe(false)
  expect(await begins(delay, 8)).toBe(false)
  expect(await begins(delay, 3, 5)).toBe(true)
  expect(await begins(delay, 3, 2)).toBe(true)
  expect(await begins(delay, 5)).toBe(false)
})

test('where delays bring nobody, ever fewer commits wait', async () => {
  const delay = new GroupDelay()
  const delayed: number[] = []
  for (let i = 0; i < 40; i++) {
    await begins(delay, 8)
    if (await begins(delay, 1)) delayed.push(i)
  }
  expect(delayed).toEqual([0, 2, 6, 14, 30])
  // Somebody who comes shows that delays are of use again.
  for (let i = 0; i < 32; i++) await begins(delay, 8).then(() => begins(delay, 1, 3))
  await begins(delay, 8)
  expect(await begins(delay, 1, 3)).toBe(true)
})
