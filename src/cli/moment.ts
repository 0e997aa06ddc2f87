import { InvalidArgumentError } from 'commander'
import { momentOf } from '../base/model/moment.ts'
import { wallClock } from '../base/time.ts'

const unitMillis: Readonly<Record<string, number>> = {
  second: 1_000,
  minute: 60_000,
  hour: 3_600_000,
  day: 86_400_000,
  week: 604_800_000,
}

const ago = /^(\d{1,9}) ?(second|minute|hour|day|week)s? ago$/i
const localTime = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?))?$/i

/**
 * Parses a time into the text of a request: ISO 8601 such as `2026-11-01T00:00:00Z`, local time without a zone, such as
 * `2026-11-01 09:30`, or `1 hour ago`.
 */
export function toMoment(text: string): string {
  const [, count, unit] = ago.exec(text.trim()) ?? []
  if (count !== undefined) {
    const millis = wallClock() - Number(count) * unitMillis[unit!.toLowerCase()]!
    if (millis > 0) return new Date(millis).toISOString()
  }
  const [, day, time = '00:00'] = localTime.exec(text.trim()) ?? []
  // The zone of this computer holds, once the day itself is known to exist.
  if (day !== undefined && momentOf(`${day}T${time}Z`)) return new Date(`${day}T${time}`).toISOString()
  const moment = momentOf(text.trim())
  if (moment) return moment.toISOString()
  throw new InvalidArgumentError(
    'It is not a time. Write 2026-11-01T00:00:00Z, 2026-11-01 09:30 for local time, or 1 hour ago.',
  )
}

/** The name of a version, with its time as a request takes it. No other name has a space or a colon. */
export function toVersionName(text: string): string {
  const name = text.slice(text.indexOf('@') + 1)
  return /[ :]/.test(name) ? `${text.slice(0, -name.length)}${toMoment(name)}` : text
}
