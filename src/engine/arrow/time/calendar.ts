/** A point in time as clock fields, without a zone. */
export interface Clock {
  readonly year: number
  /** From 1. */
  readonly month: number
  readonly day: number
  readonly hour: number
  readonly minute: number
  readonly second: number
  readonly nanosecond: number
}

/** Days from 1970-01-01 to a date. Source: H. Hinnant, "chrono-compatible low-level date algorithms". */
export function daysFromDate(year: number, month: number, day: number): number {
  const y = month <= 2 ? year - 1 : year
  const era = Math.floor(y / 400)
  const yearOfEra = y - era * 400
  const dayOfYear = Math.floor((153 * (month > 2 ? month - 3 : month + 9) + 2) / 5) + day - 1
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear
  return era * 146_097 + dayOfEra - 719_468
}

/** The date some days after 1970-01-01. Source: as `daysFromDate`. */
export function dateFromDays(days: number): { year: number; month: number; day: number } {
  const shifted = days + 719_468
  const era = Math.floor(shifted / 146_097)
  const dayOfEra = shifted - era * 146_097
  const yearOfEra = Math.floor(
    (dayOfEra -
      Math.floor(dayOfEra / 1_460) +
      Math.floor(dayOfEra / 36_524) -
      Math.floor(dayOfEra / 146_096)) /
      365,
  )
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100))
  const shiftedMonth = Math.floor((5 * dayOfYear + 2) / 153)
  const day = dayOfYear - Math.floor((153 * shiftedMonth + 2) / 5) + 1
  const month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
  return { year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day }
}

/** Days from 1970-01-01 to a date; undefined when there is no such date. */
export function checkedDays(year: number, month: number, day: number): number | undefined {
  if (month < 1 || month > 12 || day < 1 || day > daysInMonth(year, month)) return undefined
  return daysFromDate(year, month, day)
}

function daysInMonth(year: number, month: number): number {
  if (month === 2) return isLeapYear(year) ? 29 : 28
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31
}

function isLeapYear(year: number): boolean {
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
}

/** Integers in this range are exact as numbers. */
const safe = 2n ** 53n
const dayNanoseconds = 86_400_000_000_000n

/** The clock fields for nanoseconds since 1970-01-01. */
export function clockAt(nanoseconds: bigint): Clock {
  const whole = floorDiv(nanoseconds, 1_000_000_000n)
  // BigInt arithmetic takes 20 times as long.
  const isSmall = whole < safe && whole > -safe
  const days = isSmall ? Math.floor(Number(whole) / 86_400) : Number(floorDiv(whole, 86_400n))
  const seconds = isSmall ? Number(whole) - days * 86_400 : Number(floorMod(whole, 86_400n))
  return {
    ...dateFromDays(days),
    hour: Math.floor(seconds / 3_600),
    minute: Math.floor(seconds / 60) % 60,
    second: seconds % 60,
    nanosecond: Number(nanoseconds - whole * 1_000_000_000n),
  }
}

/** Nanoseconds from 1970-01-01 to the given clock fields. */
export function nanosecondsAt({ year, month, day, hour, minute, second, nanosecond }: Clock): bigint {
  const seconds = hour * 3_600 + minute * 60 + second
  const days = BigInt(daysFromDate(year, month, day))
  return days * dayNanoseconds + BigInt(seconds) * 1_000_000_000n + BigInt(nanosecond)
}

function floorMod(a: bigint, b: bigint): bigint {
  const rest = a % b
  return rest < 0n ? rest + b : rest
}

export function floorDiv(a: bigint, b: bigint): bigint {
  const quotient = a / b
  return a < 0n && quotient * b !== a ? quotient - 1n : quotient
}

/** Nanoseconds in each unit of Arrow times, by its number: seconds, milli-, micro- and nanoseconds. */
export const unitNanoseconds = [1_000_000_000n, 1_000_000n, 1_000n, 1n] as const
