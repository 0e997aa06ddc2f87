import { type DataType, Type } from '@uwdata/flechette'
import type { AnyBatch, Values } from '../batch.ts'
import { rescale, storeWords, unscaledReader } from '../decimals.ts'
import { fromHalf, halfBits } from '../half.ts'
import { layoutOf } from '../layout.ts'
import { floorDiv, unitNanoseconds } from '../time/calendar.ts'
import { fixedOffset, utcFromLocal, zoneOffset } from '../time/zone.ts'

/** Converts the value of a row that is not null; `undefined` if the type cannot hold it. */
export type Convert = (index: number, into: Values) => boolean

type IntType = DataType & { typeId: 2 }
type FloatType = DataType & { typeId: 3 }

/** Integers to integers of another width. */
export function integers(batch: AnyBatch, to: IntType): Convert {
  const from = batch.values as Values
  const bits = BigInt(to.bitWidth)
  const low = to.signed ? -(1n << (bits - 1n)) : 0n
  const high = to.signed ? (1n << (bits - 1n)) - 1n : (1n << bits) - 1n
  const isLong = to.bitWidth === 64
  if (from instanceof BigInt64Array || from instanceof BigUint64Array) {
    return (i, into) => {
      const value = from[i]!
      if (value < low || value > high) return false
      into[i] = (isLong ? value : Number(value)) as never
      return true
    }
  }
  const [min, max] = [Number(low), Number(high)]
  return (i, into) => {
    const value = from[i] as number
    if (value < min || value > max) return false
    into[i] = (isLong ? BigInt(value) : value) as never
    return true
  }
}

/** Floats to floats of another precision, rounded to the nearest. */
export function floats(batch: AnyBatch, to: FloatType): Convert {
  const from = batch.values as Float64Array
  const isHalf = (batch.type as FloatType).precision === 0
  const read = isHalf ? (i: number) => fromHalf(from[i]!) : (i: number) => from[i]!
  const write = to.precision === 0 ? halfBits : (value: number) => value
  return (i, into) => {
    into[i] = write(read(i)) as never
    return true
  }
}

/** Integers to floats, rounded to the nearest. */
export function fromIntegers(batch: AnyBatch, to: FloatType): Convert {
  const from = batch.values as Values
  const write = to.precision === 0 ? halfBits : (value: number) => value
  return (i, into) => {
    into[i] = write(Number(from[i])) as never
    return true
  }
}

/** Floats to integers. A fraction or NaN does not fit. */
export function toIntegers(batch: AnyBatch, to: IntType): Convert {
  const from = batch.values as Float64Array
  const read = (batch.type as FloatType).precision === 0 ? (i: number) => fromHalf(from[i]!) : undefined
  const bits = to.signed ? to.bitWidth - 1 : to.bitWidth
  const [min, above] = [to.signed ? -(2 ** bits) : 0, 2 ** bits]
  const isLong = to.bitWidth === 64
  return (i, into) => {
    const value = read ? read(i) : from[i]!
    if (!(Number.isInteger(value) && value >= min && value < above)) return false
    into[i] = (isLong ? BigInt(value) : value) as never
    return true
  }
}

type DecimalType = DataType & { typeId: 7 }

/** Decimals to another precision and scale, rounded to the nearest, halves away from zero. */
export function decimals(batch: AnyBatch, to: DecimalType): Convert {
  const from = batch.type as DecimalType
  const read = unscaledReader(batch.values as Values, from.bitWidth)
  const scaled = rescale(from.scale, to.scale)
  const limit = 10n ** BigInt(to.precision)
  const words = to.bitWidth / 64
  return (i, into) => {
    const value = scaled(read(i))
    if (value >= limit || value <= -limit) return false
    if (to.bitWidth === 32) into[i] = Number(value)
    else storeWords(into, i, words, value)
    return true
  }
}

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
