import { expect, test } from 'vitest'
import { differingFacts, isElsewhere } from '../../../src/base/store/home.ts'

const home = { server: '7', database: '5', schema: '16384' }

test('a place is another one when a fact differs that both know', () => {
  expect(isElsewhere(home, home)).toBe(false)
  for (const fact of Object.keys(home)) {
    const other = { ...home, [fact]: '9' }
    expect(isElsewhere(home, other)).toBe(true)
    expect(differingFacts(home, other)).toEqual([fact])
  }
  const { server: _, ...unknown } = home
  expect(isElsewhere(home, unknown)).toBe(false)
  expect(isElsewhere(unknown, home)).toBe(false)
  expect(isElsewhere(home, { ...unknown, database: '6' })).toBe(true)
})

test('records without a home are at home anywhere, and those with one never where the store knows no place', () => {
  expect(isElsewhere(undefined, home)).toBe(false)
  expect(isElsewhere(undefined, undefined)).toBe(false)
  expect(isElsewhere(home, undefined)).toBe(true)
})
