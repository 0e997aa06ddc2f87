import { expect, it } from 'vitest'
import { latestOf } from '../../../src/contents/bucket/bucket.ts'

it('the date of an object is the latest moment that it may mean', () => {
  expect(latestOf(new Date('2026-01-02T03:04:05Z'))).toBe(Date.parse('2026-01-02T03:04:05.999Z'))
  expect(latestOf(new Date('2026-01-02T03:04:05.678Z'))).toBe(Date.parse('2026-01-02T03:04:05.678Z'))
})

it('an object without a date counts as new, and not as very old', () => {
  const before = Date.now()
  for (const missing of [undefined, new Date('')]) {
    expect(latestOf(missing)).toBeGreaterThanOrEqual(before)
    expect(latestOf(missing)).toBeLessThanOrEqual(Date.now())
  }
})
