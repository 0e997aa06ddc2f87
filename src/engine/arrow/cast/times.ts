import { type DataType, Type } from '@uwdata/flechette'
import type { AnyBatch, Values } from '../batch.ts'
import { layoutOf } from '../layout.ts'
import { floorDiv, unitNanoseconds } from '../time/calendar.ts'
import { fixedOffset, utcFromLocal, zoneOffset } from '../time/zone.ts'
import type { Convert } from './numbers.ts'

/**
 * Converts times to another unit and cuts off finer parts. A date is the day of the timestamp in the timestamp's zone.
 * A timestamp without a zone keeps its clock time when it gets a zone.
 */
export function times(batch: AnyBatch, to: DataType): Convert {
  const from = batch.values as Values
  const [given, wanted] = [tickOf(batch.type), tickOf(to)]
  const layout = layoutOf(to)
  const isLong = layout.kind === 'fixed' && layout.array === BigInt64Array
  const limit = 1n << (isLong ? 63n : 31n)
  const divide =
    isDay(to) && batch.type.typeId === Type.Timestamp ? floorDiv : (a: bigint, b: bigint) => a / b
  const move = moving(batch.type, to)
  return (i, into) => {
    const nanoseconds = move(BigInt(from[i]!) * given)
    if (nanoseconds === undefined) return false
    const value = divide(nanoseconds, wanted)
    if (value < -limit || value >= limit) return false
    into[i] = (isLong ? value : Number(value)) as never
    return true
  }
}

/** The nanoseconds of a type's unit. */
function tickOf(type: DataType): bigint {
  switch (type.typeId) {
    case Type.Timestamp:
    case Type.Time:
    case Type.Duration:
      return unitNanoseconds[type.unit]
    case Type.Date:
      return isDay(type) ? 86_400_000_000_000n : 1_000_000n
    default:
      throw new TypeError('not a type of times')
  }
}

function isDay(type: DataType): boolean {
  return type.typeId === Type.Date && type.unit === 0
}

/**
 * Converts nanoseconds of one type to those of another by the zone that one of them has. Returns undefined for a local
 * time that occurs never or twice in that zone.
 */
function moving(from: DataType, to: DataType): (nanoseconds: bigint) => bigint | undefined {
  const [zone, wanted] = [zoneOf(from), zoneOf(to)]
  const isLocal = wanted !== null && zone === null
  const which = isLocal ? wanted : isDay(to) ? zone : null
  if (which === null || fixedOffset(which) === 0n) return (nanoseconds) => nanoseconds
  const offset = zoneOffset(which)
  if (offset === undefined) return () => undefined
  return isLocal ? (local) => utcFromLocal(offset, local) : (utc) => utc + offset(utc)
}

function zoneOf(type: DataType): string | null {
  return type.typeId === Type.Timestamp ? (type.timezone ?? null) : null
}
