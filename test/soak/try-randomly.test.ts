import fc from 'fast-check'
import { expect, test } from 'vitest'
import { tryRandomly } from './try-randomly.ts'

const numbers = fc.integer({ min: 1_000 })

test('looking for the smallest case ends with the time, and what was found is told', async () => {
  let runs = 0
  const until = Date.now() + 1_500
  const broken = async () => {
    // A smaller case may hang.
    if (++runs > 1) await new Promise(() => {})
    throw new Error('the promise is broken')
  }
  const error = await tryRandomly(numbers, broken, { seed: 1, numRuns: 5, until }).catch((thrown) => thrown)
  for (const part of ['Property failed after 1 tests', 'seed: 1,', /Counterexample: \[\d{4,}\]/])
    expect(error.message).toMatch(part)
  expect(error.cause).toMatchObject({ message: 'the promise is broken' })
  expect(runs).toBe(2)
})

test('a break that is found when the time is over is told as it is', async () => {
  const until = Date.now() + 1_500
  const broken = async () => {
    // The time is what it is about.
    while (Date.now() < until + 5) await new Promise((resolve) => setTimeout(resolve))
    throw new Error('the promise is broken')
  }
  const error = await tryRandomly(numbers, broken, { seed: 1, numRuns: 5, until }).catch((thrown) => thrown)
  // A pause of the machine at that moment still lets it fail in time.
  expect(String(error.cause ?? error)).toMatch(/broken/)
})

test('what is tried when the time is over is tried to its end', async () => {
  let ended = 0
  const until = Date.now() + 1_500
  const slow = async () => {
    // The time is what it is about.
    while (Date.now() < until + 20) await new Promise((resolve) => setTimeout(resolve))
    ended++
  }
  await tryRandomly(numbers, slow, { seed: 1, numRuns: 5, until })
  expect(ended).toBe(1)
  // In time, all of them are tried.
  await tryRandomly(numbers, async () => ended++, { seed: 1, numRuns: 5, until: Date.now() + 3_600_000 })
  expect(ended).toBe(6)
})
