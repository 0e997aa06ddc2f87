import { zoneOffset } from '../../arrow/time/zone.ts'

const second = 1_000_000_000n
/** The days whose offsets are kept: those from 1970 to 2059. */
const knownDays = 1 << 15
/** What stands for a day: it was not asked for yet, or the offset changes on it. */
const [unknown, changes] = [-(2 ** 31), -(2 ** 31) + 1]

type Offset = (utc: number) => number

const maxZones = 16
const zones = new Map<string, Offset>()

/** The seconds that a zone is ahead of UTC, at a time in seconds; undefined for an unknown zone. */
export function zoneSeconds(zone: string): Offset | undefined {
  const known = zones.get(zone)
  if (known !== undefined) return known
  const offset = zoneOffset(zone)
  if (offset === undefined) return undefined
  const made = byDay((utc) => Number(offset(BigInt(utc) * second) / second))
  if (zones.size >= maxZones) zones.clear()
  zones.set(zone, made)
  return made
}

/** Asks for an offset once a day, except on the days on which it changes: asking takes microseconds. */
function byDay(at: Offset): Offset {
  const days = new Int32Array(knownDays).fill(unknown)
  return (utc) => {
    const day = Math.floor(utc / 86_400)
    if (!(day >= 0 && day < knownDays)) return at(utc)
    if (days[day] === unknown) {
      const start = at(day * 86_400)
      days[day] = start === at((day + 1) * 86_400) ? start : changes
    }
    const ahead = days[day]!
    return ahead === changes ? at(utc) : ahead
  }
}
