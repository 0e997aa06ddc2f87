import { expect, test } from 'vitest'
import type { Difference } from '../engine/predicate/reference/difference.ts'
import { Refusals } from './refusals.ts'

const refusals = (count: number): Difference[] =>
  Array.from({ length: count }, (_, i) => ({ kind: 'refusal', text: `refusal ${i}` }))

test('a wrong answer breaks at once, also among refusals, and is told with its seed', () => {
  const wrong: Difference = { kind: 'answer', text: 'i = 1' }
  expect(() => new Refusals().add(7, [...refusals(20), wrong])).toThrow(/^seed 7:\ni = 1$/)
})

test('refusals of one side are counted, and the first hundred kept', () => {
  const found = new Refusals()
  found.add(7, refusals(2))
  expect(found.kept[1]).toBe('refused by one side, seed 7: refusal 1')
  for (let seed = 8; seed < 18; seed++) found.add(seed, refusals(30))
  expect(found.count).toBe(302)
  expect(found.kept).toHaveLength(100)
})

test('three refusals or more break when they are more than one in 5,000 draws', () => {
  const found = new Refusals()
  found.add(7, refusals(2))
  found.check(1_000)
  found.add(8, refusals(1))
  expect(() => found.check(14_999)).toThrow('One side alone refuses 3 of 14999 draws.')
  found.check(15_000)
})
