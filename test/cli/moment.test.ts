import { expect, it } from 'vitest'
import { toMoment } from '../../src/cli/moment.ts'

it('times are typed as ISO 8601, in local time, or as so long ago', () => {
  expect(toMoment('2026-11-01T00:00:00Z')).toBe('2026-11-01T00:00:00.000Z')
  expect(toMoment(' 2026-11-01T02:00+02:00')).toBe('2026-11-01T00:00:00.000Z')
  expect(toMoment('2026-11-01')).toBe(new Date(2026, 10, 1).toISOString())
  expect(toMoment('2026-11-01 09:30')).toBe(new Date(2026, 10, 1, 9, 30).toISOString())
  const before = Date.now()
  for (const [text, millis] of [
    ['1 hour ago', 3_600_000],
    ['90 Minutes ago', 5_400_000],
    ['2 weeks ago', 1_209_600_000],
    ['0 seconds ago', 0],
  ] as const) {
    const found = Date.parse(toMoment(text)) + millis
    expect(found).toBeGreaterThanOrEqual(before)
    expect(found).toBeLessThanOrEqual(Date.now())
  }
})

it.each([
  '',
  'yesterday',
  '2026-02-30',
  '2026-13-01T00:00:00Z',
  '-1 hour ago',
  '1 fortnight ago',
  '999999999 weeks ago',
  '25:00',
])('%j is refused', (text) => expect(() => toMoment(text)).toThrow('It is not a time.'))
