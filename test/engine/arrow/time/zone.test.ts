import { TimeUnit, timestamp, utf8 } from '@uwdata/flechette'
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

  it('is asked for twice a day, on days of a change once in a quarter of an hour, and then kept', () => {
    const asked = counted()
    const ahead = zoneSeconds('Pacific/Chatham')!
    const [first, last] = [Date.UTC(1930, 0) / 1_000, Date.UTC(2090, 0) / 1_000]
    const askAll = () => {
      for (let time = first; time < last; time += 1_800) ahead(time)
    }
    askAll()
    // It changes twice a year at most.
    const [days, changes] = [(last - first) / 86_400, 2 * 160]
    expect(asked.mock.calls.length).toBeLessThan(2 * days + 96 * changes)
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
