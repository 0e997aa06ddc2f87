import { expect, test } from 'vitest'
import { ByteBudget } from '../../../src/base/scheduling/byte-budget.ts'

/** Whether a promise has settled by now. */
async function isDone(promise: Promise<unknown> | undefined): Promise<boolean> {
  if (promise === undefined) return true
  let done = false
  const settled = () => {
    done = true
  }
  promise.then(settled, settled)
  await new Promise((resolve) => setImmediate(resolve))
  return done
}

test('bytes are taken as they are needed: what is only announced takes no room', async () => {
  const budget = new ByteBudget(110)
  const announced = Array.from({ length: 4 }, () => budget.hold(100))
  for (const hold of announced) expect(hold.take(1)).toBeUndefined()
  expect(budget.used).toBe(4)
  const small = budget.hold(50)
  expect(small.take(50)).toBeUndefined()
  small.release()
  for (const hold of announced) hold.release()
  expect(budget.used).toBe(0)
})

test('all get through that come in parts at once', async () => {
  const budget = new ByteBudget(400)
  let most = 0
  let done = 0
  const upload = async () => {
    const hold = budget.hold(240)
    for (let i = 0; i < 24; i++) {
      await hold.take(10)
      most = Math.max(most, budget.used)
      await new Promise((resolve) => setImmediate(resolve))
    }
    done++
    hold.release()
  }
  await Promise.all(Array.from({ length: 20 }, upload))
  expect(done).toBe(20)
  expect(most).toBeGreaterThan(240)
  expect(most).toBeLessThanOrEqual(400)
  expect(budget.used).toBe(0)
})

test('when all wait for more than they said, the last is refused and the rest go on', async () => {
  const budget = new ByteBudget(100)
  const holds = [budget.hold(), budget.hold(), budget.hold()]
  for (const hold of holds) expect(hold.take(33)).toBeUndefined()
  const [first, second] = holds.slice(0, 2).map((hold) => hold.take(30))
  expect(await isDone(first)).toBe(false)
  await expect(holds[2]!.take(30)).rejects.toMatchObject({ code: 'Throttling' })
  holds[2]!.release()
  await first
  expect(await isDone(second)).toBe(false)
  holds[0]!.release()
  await second
  holds[1]!.release()
  expect(budget.used).toBe(0)
})

test('who gives up waiting makes room for the next', async () => {
  const budget = new ByteBudget(100)
  const [running, large, small] = [budget.hold(), budget.hold(), budget.hold()]
  expect(running.take(60)).toBeUndefined()
  const stop = new AbortController()
  const waits = large.take(90, stop.signal)
  const after = small.take(50)
  expect(await isDone(after)).toBe(false)
  stop.abort(new Error('gone'))
  await expect(waits).rejects.toThrow('gone')
  large.release()
  expect(await isDone(after)).toBe(false)
  running.give(20)
  await after
  expect(budget.used).toBe(90)
})

test('a hold that is released while it waits gets nothing any more', async () => {
  const budget = new ByteBudget(100)
  const [running, gone] = [budget.hold(), budget.hold()]
  expect(running.take(60)).toBeUndefined()
  const waits = gone.take(60)
  gone.release()
  await expect(waits).rejects.toMatchObject({ code: 'Throttling' })
  running.release()
  expect(budget.used).toBe(0)
})

test('more than there ever is, is refused at once', () => {
  const budget = new ByteBudget(100)
  const hold = budget.hold()
  expect(hold.take(60)).toBeUndefined()
  expect(() => hold.take(41)).toThrow(/needs 101 bytes of memory, and all requests together have 100/)
  expect(hold.tryTake(41)).toBe(false)
  expect(hold.tryTake(40)).toBe(true)
})
