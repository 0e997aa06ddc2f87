import { floorDiv, nanosecondsAt } from './calendar.ts'

const [second, hour] = [1_000_000_000n, 3_600_000_000_000n]
/** JavaScript's dates begin in the year -271821, in seconds. Before that, zone offsets are constant. */
const firstChange = -8_640_000_000_000
/** 2099-12-31, in seconds. As in LanceDB, zone offsets do not change afterwards. */
const lastChange = 4_102_358_400

/**
 * A time zone's offset from UTC in nanoseconds, at a UTC time in nanoseconds since 1970-01-01. Undefined for an unknown
 * zone. The name is an IANA one, or an offset such as `+02:00`.
 */
export function zoneOffset(zone: string): ((utc: bigint) => bigint) | undefined {
  const fixed = fixedOffset(zone)
  if (fixed !== undefined) return () => fixed
  const ahead = zoneSeconds(zone)
  return ahead && ((utc) => BigInt(ahead(Number(floorDiv(utc, second)))) * second)
}

type Offset = (utc: number) => number

/** Zones whose offsets are kept: 0.5 MiB for the days of each, and 1 MiB for the quarters of an hour. */
const maxZones = 32
const zones = new Map<string, Offset>()

/** As {@link zoneOffset}, in seconds: what the zone is ahead of UTC, at a UTC time since 1970-01-01. */
export function zoneSeconds(zone: string): Offset | undefined {
  const fixed = fixedOffset(zone)
  if (fixed !== undefined) {
    const ahead = Number(fixed / second)
    return () => ahead
  }
  const known = zones.get(zone)
  if (known !== undefined) return known
  const formatter = makeFormatter(zone)
  if (formatter === undefined) return undefined
  const made = kept((utc) => readOffset(formatter, utc))
  if (zones.size >= maxZones) zones.clear()
  zones.set(zone, made)
  return made
}

/** The days whose offsets are kept: those from 1790, before any zone changed its offset, to `lastChange`. */
const firstDay = -(2 ** 16)
const keptDays = lastChange / 86_400 - firstDay
/** Quarters of an hour whose offsets are kept: those of 85 years with two changes each. */
const maxQuarters = 16_384
/** What stands for a day: 0 before it is asked for, `changes` if its offset changes, else `base` and its offset. */
const [changes, base] = [1, 2 ** 20]

/**
 * Keeps the offsets of a zone, as asking takes microseconds: one for each day, or, where the offset changes on a day,
 * for each quarter of an hour. No zone has two changes on one day. A quarter within which the offset
 * changes is asked for each time: until 2011, Newfoundland changed at 00:01.
 */
function kept(at: Offset): Offset {
  const quarters = new Map<number, number>()
  const ofQuarter = (utc: number) => {
    const quarter = Math.floor(utc / 900)
    let ahead = quarters.get(quarter)
    if (ahead === undefined) {
      ahead = at(quarter * 900)
      if (ahead !== at(quarter * 900 + 899)) return at(utc)
      if (quarters.size >= maxQuarters) quarters.clear()
      quarters.set(quarter, ahead)
    }
    return ahead
  }
  const days = new Int32Array(keptDays)
  return (utc) => {
    const place = Math.floor(utc / 86_400) - firstDay
    if (!(place >= 0 && place < keptDays)) return ofQuarter(Math.min(Math.max(utc, firstChange), lastChange))
    if (days[place] === 0) {
      const start = (place + firstDay) * 86_400
      const ahead = at(start)
      days[place] = ahead === at(start + 86_400) ? base + ahead : changes
    }
    return days[place] === changes ? ofQuarter(utc) : days[place]! - base
  }
}

/** A literal offset, in nanoseconds: `Z`, `UTC`, `+02`, `-0530`, `+02:00`. */
export function fixedOffset(zone: string): bigint | undefined {
  if (/^(utc|z|gmt)$/i.test(zone)) return 0n
  const found = /^([+-])(\d\d)(?::?(\d\d))?$/.exec(zone)
  if (!found) return undefined
  const minutes = BigInt(found[2]!) * 60n + BigInt(found[3] ?? 0)
  return (found[1] === '-' ? -minutes : minutes) * (hour / 60n)
}

/** The UTC time of a zone's local time; undefined if that local time occurs never or twice. */
export function utcFromLocal(offsetAt: (utc: bigint) => bigint, local: bigint): bigint | undefined {
  const candidates = new Set<bigint>()
  for (const guess of [local - 24n * hour, local + 24n * hour]) {
    const utc = local - offsetAt(guess)
    if (utc + offsetAt(utc) === local) candidates.add(utc)
  }
  const [utc] = candidates
  return candidates.size === 1 ? utc : undefined
}

function makeFormatter(timeZone: string): Intl.DateTimeFormat | undefined {
  // JavaScript also accepts abbreviations such as PST, which are not zone names.
  if (!/^[A-Z]\w+(\/[\w+-]+)+$|^(?:[CMEW]ET|[EMH]ST|EST5EDT|CST6CDT|MST7MDT|PST8PDT)$/i.test(timeZone))
    return undefined
  try {
    return new Intl.DateTimeFormat('en-US', {
      timeZone,
      era: 'short',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
      hourCycle: 'h23',
    })
  } catch {
    return undefined
  }
}

/** What the zone's clock is ahead of UTC, at a UTC time in seconds. */
function readOffset(formatter: Intl.DateTimeFormat, utc: number): number {
  const parts: Record<string, string> = {}
  for (const { type, value } of formatter.formatToParts(utc * 1_000)) parts[type] = value
  const year = Number(parts['year'])
  const local = nanosecondsAt({
    year: parts['era'] === 'BC' ? 1 - year : year,
    month: Number(parts['month']),
    day: Number(parts['day']),
    hour: Number(parts['hour']),
    minute: Number(parts['minute']),
    second: Number(parts['second']),
    nanosecond: 0,
  })
  return Number(local / second) - utc
}
