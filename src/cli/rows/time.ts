const dayMillis = 86_400_000
const dayNanos = 86_400_000_000_000n

/** Nanoseconds in each unit of Arrow's times. */
export const unitNanos = { s: 1_000_000_000n, ms: 1_000_000n, us: 1_000n, ns: 1n } as const

/** The units by their enum value in Arrow. */
export const units = ['s', 'ms', 'us', 'ns'] as const

const date = /^(?:[+-]\d{6}|\d{4})-\d\d-\d\d$/

/** The last date that was read: rows that follow one another often have the same day. */
let last = { text: '1970-01-01', days: 0 }

/** Days since 1970 of an ISO date; undefined for any other text and for days that do not exist. */
export function parseDate(text: string): number | undefined {
  if (text === last.text) return last.days
  const days = daysOf(text)
  if (days !== undefined) last = { text, days }
  return days
}

function daysOf(text: string): number | undefined {
  if (!date.test(text)) return undefined
  // JavaScript reads 30 February as 1 March, so the day is compared with the text.
  const millis = Date.parse(`${text}T00:00:00Z`)
  return Number.isNaN(millis) || formatDate(millis) !== text ? undefined : millis / dayMillis
}

const time = /^(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?$/

/** Nanoseconds since midnight of a time of day; undefined for any other text. */
export function parseTime(text: string): bigint | undefined {
  const [, hours, minutes, seconds = '0', fraction = ''] = time.exec(text) ?? []
  if (hours === undefined || Number(hours) > 23 || Number(minutes) > 59 || Number(seconds) > 59)
    return undefined
  const whole = (Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)
  // A day has fewer nanoseconds than there are safe integers.
  return BigInt(whole * 1e9 + (fraction === '' ? 0 : Number(fraction.padEnd(9, '0'))))
}

export interface Instant {
  /** Nanoseconds since 1970: in UTC if the text has a zone, else in local time. */
  readonly nanos: bigint
  readonly hasZone: boolean
}

const timestamp = /^([^T ]+)[T ]([\d:.]+)(?:(Z)|([+-])(\d\d):?(\d\d)?)?$/

/** The time of an ISO timestamp, with `T` or a space before the time of day; undefined for any other text. */
export function parseTimestamp(text: string): Instant | undefined {
  const [, day, clock, utc, sign, hours, minutes = '0'] = timestamp.exec(text) ?? []
  if (day === undefined || clock === undefined) return undefined
  const days = parseDate(day)
  const nanos = days === undefined ? undefined : parseTime(clock)
  if (days === undefined || nanos === undefined) return undefined
  const local = BigInt(days) * dayNanos + nanos
  if (sign === undefined) return { nanos: local, hasZone: utc !== undefined }
  if (Number(hours) > 23 || Number(minutes) > 59) return undefined
  const offset = BigInt(Number(hours) * 60 + Number(minutes)) * 60n * unitNanos.s
  return { nanos: sign === '+' ? local - offset : local + offset, hasZone: true }
}

/** The ISO text of a day, from milliseconds since 1970. */
export function formatDate(millis: number): string {
  const text = new Date(millis).toISOString()
  return text.slice(0, text.indexOf('T'))
}

const maxMillis = 8_640_000_000_000_000n

/**
 * The ISO text of a timestamp: fractional digits in groups of three as needed, and `Z` if its column has a zone. A time
 * beyond the years of ISO text is printed as its number.
 */
export function formatTimestamp(value: bigint, unit: keyof typeof unitNanos, hasZone: boolean): string {
  const nanos = value * unitNanos[unit]
  const rest = ((nanos % unitNanos.ms) + unitNanos.ms) % unitNanos.ms
  const millis = (nanos - rest) / unitNanos.ms
  if (millis > maxMillis || millis < -maxMillis) return String(value)
  const more = rest === 0n ? '' : String(rest).padStart(6, '0').replace(/000$/, '')
  return new Date(Number(millis)).toISOString().replace('Z', more + (hasZone ? 'Z' : ''))
}
