import { TimeUnit, timestamp, utf8 } from '@uwdata/flechette'
import fc from 'fast-check'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { zoneOffset, zoneSeconds } from '../../../../src/engine/arrow/time/zone.ts'
import { makeTable, select } from '../../predicate/table.ts'

const nanoseconds = (time: string) => BigInt(Date.parse(time)) * 1_000_000n

describe('the offset of a time zone', () => {
  afterEach(() => vi.restoreAllMocks())

  /** Counts how often Intl is asked for a clock. */
  const counted = () => vi.spyOn(Intl.DateTimeFormat.prototype, 'formatToParts')

  it('changes at the moment at which the zone changes it, and never after 2099', () => {
    const offset = zoneOffset('Europe/Berlin')!
    const hours = (time: string) => Number(offset(nanoseconds(time))) / 3_600e9
    expect(hours('2024-03-31T00:59:59Z')).toBe(1)
    expect(hours('2024-03-31T01:00:00Z')).toBe(2)
    expect(hours('2024-10-27T00:59:59Z')).toBe(2)
    expect(hours('2024-10-27T01:00:00Z')).toBe(1)
    expect(hours('2100-07-01T00:00:00Z')).toBe(1)
    // The local mean time, before there were zones.
    for (const time of ['1800-01-01T00:00:00Z', '0001-01-01T00:00:00Z', '-271000-01-01T00:00:00Z'])
      expect(hours(time)).toBe(3_208 / 3_600)
    expect(offset(-(10n ** 25n))).toBe(3_208_000_000_000n)
  })

  // Some changed at 00:01, or at a second of the local mean time.
  const odd = ['America/St_Johns', 'America/Goose_Bay', 'Africa/Monrovia', 'Europe/Amsterdam', 'Africa/Accra']
  const all = Intl.supportedValuesOf('timeZone').filter((zone) => zone.includes('/'))
  const drawn = fc.sample(fc.constantFrom(...all), { numRuns: 6, seed: 20_261_124 })
  it.each([...odd, ...drawn])('is that of Intl around each change of %s', (zone) => {
    const [offset, exact] = [zoneSeconds(zone)!, offsetByIntl(zone)]
    const month = 30 * 86_400
    let changes = 0
    for (let time = Date.UTC(1850, 0) / 1_000; time < Date.UTC(2030, 0) / 1_000; time += month) {
      const before = exact(time)
      if (exact(time + month) === before) continue
      let [low, high] = [time, time + month]
      while (high - low > 1) {
        const middle = Math.floor((low + high) / 2)
        if (exact(middle) === before) low = middle
        else high = middle
      }
      changes++
      for (const apart of [-450, -60, -1, 0, 1, 60, 450])
        expect([zone, high + apart, offset(high + apart)]).toEqual([zone, high + apart, exact(high + apart)])
    }
    expect(changes).toBeGreaterThan(0)
  })

  it('is asked for twice a day, on days of a change twice in a quarter of an hour, and then kept', () => {
    const asked = counted()
    const ahead = zoneSeconds('Pacific/Chatham')!
    const [first, last] = [Date.UTC(1970, 0) / 1_000, Date.UTC(2050, 0) / 1_000]
    const askAll = () => {
      for (let time = first; time < last; time += 1_800) ahead(time)
    }
    askAll()
    // It changes twice a year at most.
    const [days, changes] = [(last - first) / 86_400, 2 * 80]
    expect(asked.mock.calls.length).toBeLessThan(2 * days + 2 * 96 * changes)
    asked.mockClear()
    askAll()
    expect(asked.mock.calls.length).toBe(0)
  })

  it('is kept for further expressions, and for casts to text and from it', () => {
    const times = Array.from({ length: 1_000 }, (_, i) => Date.UTC(1990, 0, 1) + i * 12 * 86_400_000)
    const texts = times.map((time) => `${new Date(time).toISOString().slice(0, 19)} Asia/Kathmandu`)
    const table = makeTable({
      t: [timestamp(TimeUnit.MILLISECOND, 'Asia/Kathmandu'), times],
      s: [utf8(), texts],
    })
    const asked = counted()
    const evaluate = () => {
      select(table, "date_trunc('month', t) > TIMESTAMP '2000-01-01T00:00:00Z'")
      select(table, "CAST(t AS STRING) > 'x'")
      select(table, "CAST(s AS TIMESTAMP) < TIMESTAMP '2000-01-01T00:00:00Z'")
    }
    evaluate()
    expect(asked.mock.calls.length).toBeGreaterThan(1_000)
    asked.mockClear()
    evaluate()
    expect(asked.mock.calls.length).toBe(0)
  })
})

/** What a zone is ahead of UTC at a time, in seconds, by nothing but a clock of Intl. */
function offsetByIntl(timeZone: string): (utc: number) => number {
  const numeric = 'numeric' as const
  const clock = new Intl.DateTimeFormat('en-US', {
    timeZone,
    year: numeric,
    month: numeric,
    day: numeric,
    hour: numeric,
    minute: numeric,
    second: numeric,
    hourCycle: 'h23',
  })
  return (utc) => {
    const parts = clock.formatToParts(utc * 1_000).map(({ type, value }) => [type, Number(value)])
    const { year, month, day, hour, minute, second } = Object.fromEntries(parts) as Record<string, number>
    return Date.UTC(year!, month! - 1, day, hour, minute, second) / 1_000 - utc
  }
}
