import { expect, test } from 'vitest'
import { differingParts, isOtherHome } from '../../../src/base/store/home.ts'

const home = { server: '7', database: '5', schema: '16384' }

test('a place is another one when a fact differs that both know', () => {
  expect(isOtherHome(home, home)).toBe(false)
  for (const fact of Object.keys(home)) {
    const other = { ...home, [fact]: '9' }
    expect(isOtherHome(home, other)).toBe(true)
    expect(differingParts(home, other)).toEqual([fact])
  }
  const { server: _, ...unknown } = home
  expect(isOtherHome(home, unknown)).toBe(false)
  expect(isOtherHome(unknown, home)).toBe(false)
  expect(isOtherHome(home, { ...unknown, database: '6' })).toBe(true)
})

test('records without a home are at home anywhere, and those with one never where the store knows no place', () => {
  expect(isOtherHome(undefined, home)).toBe(false)
  expect(isOtherHome(undefined, undefined)).toBe(false)
  expect(isOtherHome(home, undefined)).toBe(true)
})
