import { setImmediate } from 'node:timers/promises'
import { afterEach, expect, test, vi } from 'vitest'
import { TimeSlice } from '../../../src/base/scheduling/time-slice.ts'
import { performance } from '../../../src/base/time.ts'

afterEach(() => vi.restoreAllMocks())

test('of many who rest, each turn of the event loop resumes one, in their order', async () => {
  const [workers, rounds] = [8, 5]
  const resumed: { worker: number; turn: number }[] = []
  let turn = 0
  let isOver = false
  const counting = (async () => {
    while (!isOver) {
      turn++
      await setImmediate()
    }
  })()
  const work = async (worker: number) => {
    const slice = new TimeSlice(undefined)
    for (let i = 0; i < rounds; i++) {
      await slice.rest()
      resumed.push({ worker, turn })
    }
  }
  await Promise.all(Array.from({ length: workers }, (_, i) => work(i)))
  isOver = true
  await counting
  expect(resumed).toHaveLength(workers * rounds)
  expect(new Set(resumed.map((each) => each.turn)).size).toBe(workers * rounds)
  expect(resumed.map((each) => each.worker)).toEqual(
    Array.from({ length: workers * rounds }, (_, i) => i % workers),
  )
})

test('the work of one counts for all, until the turn ends', async () => {
  let now = 1_000
  vi.spyOn(performance, 'now').mockImplementation(() => now)
  await setImmediate()
  const [first, second] = [new TimeSlice(undefined), new TimeSlice(undefined)]
  expect([first.due, second.due]).toEqual([false, false])
  now += 100
  expect([first.due, second.due, new TimeSlice(undefined).due]).toEqual([true, true, true])
  await second.rest()
  expect([first.due, second.due]).toEqual([false, false])
})

test('an aborted slice is due, and its rest throws', async () => {
  const abort = new AbortController()
  const slice = new TimeSlice(abort.signal)
  const resting = slice.rest()
  abort.abort(new Error('Enough.'))
  expect(slice.due).toBe(true)
  await expect(resting).rejects.toThrow('Enough.')
  await expect(slice.rest()).rejects.toThrow('Enough.')
  expect(() => new TimeSlice(abort.signal)).toThrow('Enough.')
})
