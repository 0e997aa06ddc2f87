import { floorDiv, nanosecondsAt } from './calendar.ts'

const hour = 3_600_000_000_000n
/** 2099-12-31, in milliseconds. As in LanceDB, zone offsets do not change afterwards. */
const lastChange = 4_102_358_400_000n

/**
 * A time zone's offset from UTC in nanoseconds, at a UTC time in nanoseconds since 1970-01-01. Undefined for an unknown
 * zone. The name is an IANA one, or an offset such as `+02:00`.
 */
export function zoneOffset(zone: string): ((utc: bigint) => bigint) | undefined {
  const fixed = fixedOffset(zone)
  if (fixed !== undefined) return () => fixed
  const formatter = makeFormatter(zone)
  if (formatter === undefined) return undefined
  // Offsets change on full quarters of an hour only.
  const known = new Map<bigint, bigint>()
  return (utc) => {
    const quarter = floorDiv(utc, hour / 4n)
    let offset = known.get(quarter)
    if (offset === undefined) {
      offset = readOffset(formatter, quarter * (hour / 4n))
      if (known.size > 100_000) known.clear()
      known.set(quarter, offset)
    }
    return offset
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

function readOffset(formatter: Intl.DateTimeFormat, utc: bigint): bigint {
  // JavaScript's dates begin in the year -271821. Before that, zone offsets are constant.
  const first = -8_640_000_000_000_000n
  const raw = floorDiv(utc, 1_000_000n)
  const milliseconds = raw > lastChange ? lastChange : raw < first ? first : raw
  const parts: Record<string, string> = {}
  for (const { type, value } of formatter.formatToParts(Number(milliseconds))) parts[type] = value
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
  const second = floorDiv(milliseconds, 1_000n) * 1_000_000_000n
  return local - second
}
