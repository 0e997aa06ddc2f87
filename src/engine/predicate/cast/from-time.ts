import { type DataType, type DateType, type TimestampType, Type } from '@uwdata/flechette'
import { floorDiv, unitNanoseconds } from '../../arrow/time/calendar.ts'
import { utcFromLocal, zoneOffset } from '../../arrow/time/zone.ts'
import type { NonNullScalar } from '../plan/plan.ts'
import { integerType } from '../plan/types.ts'
import { fromInteger } from './from-number.ts'
import { hasCalendar, long } from './from-text.ts'
import { type Convert, toInteger } from './numbers.ts'

const dayMilliseconds = 86_400_000n
const dayNanoseconds = dayMilliseconds * 1_000_000n
const fitDays = toInteger(integerType(true, 32))

/** The converter from dates, times, timestamps and durations. */
export function fromTime(from: DataType, to: DataType): Convert | undefined {
  switch (from.typeId) {
    case Type.Date:
      return fromDate(from, to)
    case Type.Timestamp:
      return fromTimestamp(from, to)
    case Type.Duration:
      if (to.typeId === Type.Duration) return (value) => long(changeUnit(value as bigint, from.unit, to.unit))
      return isCount(to) ? fromInteger(integerType(true, 64), to) : undefined
    case Type.Time:
      if (to.typeId === Type.Time) {
        const short = to.bitWidth === 32
        return (value) => {
          const time = changeUnit(BigInt(value as number | bigint), from.unit, to.unit)
          return short ? Number(time) : time
        }
      }
      if (to.typeId !== Type.Int || !to.signed || to.bitWidth < from.bitWidth) return undefined
      return fromInteger(integerType(true, from.bitWidth), to)
    default:
      return undefined
  }
}

function isCount(to: DataType): boolean {
  return to.typeId === Type.Int || to.typeId === Type.Float || to.typeId === Type.Decimal
}

function fromDate(from: DateType, to: DataType): Convert | undefined {
  const days = from.unit === 0
  const milliseconds = (value: NonNullScalar) =>
    days ? BigInt(value as number) * dayMilliseconds : (value as bigint)
  switch (to.typeId) {
    case Type.Int:
      if (!to.signed || to.bitWidth < 32) return undefined
      return fromInteger(integerType(true, days ? 32 : 64), to)
    case Type.Date:
      if (to.unit === 1) return milliseconds
      return (value) => fitDays((value as bigint) / dayMilliseconds)
    case Type.Timestamp: {
      const shiftZone = inZone(null, to.timezone)
      const size = unitNanoseconds[to.unit]
      return (value) => shiftZone(long(scaleDown(milliseconds(value) * 1_000_000n, size)), size)
    }
    default:
      return undefined
  }
}

function fromTimestamp(from: TimestampType, to: DataType): Convert | undefined {
  const size = unitNanoseconds[from.unit]
  switch (to.typeId) {
    case Type.Timestamp: {
      const shiftZone = inZone(from.timezone, to.timezone)
      const target = unitNanoseconds[to.unit]
      return (value) => shiftZone(long(changeUnit(value as bigint, from.unit, to.unit)), target)
    }
    case Type.Date: {
      if (to.unit === 1) return (value) => scaleDown((value as bigint) * size, 1_000_000n)
      const day = dayOf(from)
      return (value) => fitDays(day(value as bigint))
    }
    default:
      return isCount(to) ? fromInteger(integerType(true, 64), to) : undefined
  }
}

/** A function that returns the day of a time in its zone's calendar. */
export function dayOf(type: TimestampType): (time: bigint) => bigint {
  const size = unitNanoseconds[type.unit]
  const offset = type.timezone === null ? undefined : zoneOffset(type.timezone)
  return (time) => {
    const utc = time * size
    return floorDiv(offset ? utc + offset(utc) : utc, dayNanoseconds)
  }
}

function changeUnit(value: bigint, from: 0 | 1 | 2 | 3, to: 0 | 1 | 2 | 3): bigint {
  return scaleDown(value * unitNanoseconds[from], unitNanoseconds[to])
}

/** Divides towards zero, as the reference does for a coarser unit. */
function scaleDown(nanoseconds: bigint, size: bigint): bigint {
  return nanoseconds / size
}

/** A timestamp without a zone keeps its clock time when it gets a zone; all others keep the instant. */
function inZone(
  from: string | null,
  to: string | null,
): (value: bigint | undefined, size: bigint) => bigint | undefined {
  if (from !== null || to === null) return (value) => value
  const offset = zoneOffset(to)
  return (value, size) => {
    if (value === undefined || offset === undefined || !hasCalendar(value * size)) return undefined
    const utc = utcFromLocal(offset, value * size)
    return utc === undefined ? undefined : long(utc / size)
  }
}
