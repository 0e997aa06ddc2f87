import { type DataType, type DecimalType, Type } from '@uwdata/flechette'
import { roundToHalf } from '../../arrow/half.ts'
import type { NonNullScalar } from '../plan/plan.ts'
import { integerRange } from '../plan/types.ts'

export { rescale } from '../../arrow/decimals.ts'

/** Converts one value; undefined if that is impossible. */
export type Convert = (value: NonNullScalar) => NonNullScalar | undefined

/** Whether values of an integer type are bigints. */
export function isLong(type: DataType): boolean {
  return type.typeId === Type.Int && type.bitWidth === 64
}

/** Fits a whole number into an integer type; undefined if it is out of range. */
export function toInteger(type: DataType): (value: bigint) => number | bigint | undefined {
  const [low, high] = integerRange(type)
  const long = isLong(type)
  return (value) => (value < low || value > high ? undefined : long ? value : Number(value))
}

/** Cuts a number's fraction and fits it into an integer type. */
export function floatToInteger(type: DataType): Convert {
  const fit = toInteger(type)
  return (value) => (Number.isFinite(value as number) ? fit(BigInt(Math.trunc(value as number))) : undefined)
}

/** Rounds a number to the width of a float type. */
export function roundTo(type: DataType): (value: number) => number {
  if (type.typeId !== Type.Float || type.precision === 2) return (value) => value
  return type.precision === 1 ? Math.fround : roundToHalf
}

/** An unscaled value that fits a decimal's precision; otherwise undefined. */
export function checkDigits(type: DecimalType): (value: bigint) => bigint | undefined {
  const limit = 10n ** BigInt(type.precision)
  return (value) => (value < limit && value > -limit ? value : undefined)
}

/** A float as a decimal, rounded half away from zero. */
export function floatToDecimal(type: DecimalType): Convert {
  const fit = checkDigits(type)
  const factor = 10 ** type.scale
  return (value) => {
    const scaled = (value as number) * factor
    if (!Number.isFinite(scaled)) return undefined
    const cut = Math.trunc(scaled)
    return fit(BigInt(Math.abs(scaled - cut) >= 0.5 ? cut + Math.sign(scaled) : cut))
  }
}

/** The number that an unscaled value represents. */
export function decimalToFloat(scale: number): (value: bigint) => number {
  const factor = 10 ** scale
  return (value) => Number(value) / factor
}
