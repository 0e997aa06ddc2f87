import { type DataType, Type } from '@uwdata/flechette'
import { CatalogError } from '../../../base/errors.ts'
import { halfBits } from '../half.ts'
import { describe } from './infer.ts'

/** The column and row of a value, for errors. */
export interface CellPosition {
  readonly column: string
  readonly row: number
}

/** The error for a value that does not fit its column. */
export function valueMismatch({ column, row }: CellPosition, given: unknown, wanted: string): CatalogError {
  const what =
    typeof given === 'number' || typeof given === 'bigint' ? `${describe(given)} ${given}` : describe(given)
  return new CatalogError(
    'TableSchemaValidationError',
    `Row ${row} has a ${what} in column ${JSON.stringify(column)}, which takes ${wanted}. Convert it or change the schema.`,
  )
}

/**
 * The number or bigint an Arrow buffer holds for a value, checked to be in range. 64-bit types come as
 * bigint, decimals unscaled.
 */
export function encodeNumber(type: DataType, value: unknown, position: CellPosition): number | bigint {
  switch (type.typeId) {
    case Type.Int:
      return integer(value, type.bitWidth, type.signed, position)
    case Type.Float:
      if (typeof value !== 'number') throw valueMismatch(position, value, 'a number')
      return type.precision === 0 ? halfBits(value) : value
    case Type.Decimal:
      return decimal(value, type.precision, type.scale, type.bitWidth, position)
    case Type.Date: {
      if (!(value instanceof Date))
        return integer(value, type.unit === 0 ? 32 : 64, true, position, 'a Date or a whole number')
      const time = timeOf(value, position)
      return type.unit === 0
        ? Math.floor(time / 86_400_000)
        : BigInt(Math.floor(time / 86_400_000)) * 86_400_000n
    }
    case Type.Time:
      return integer(value, type.bitWidth, true, position)
    case Type.Duration:
      return integer(value, 64, true, position)
    case Type.Timestamp: {
      if (typeof value === 'bigint') return integer(value, 64, true, position)
      // A number is ambiguous: milliseconds, or the column's unit.
      if (!(value instanceof Date))
        throw valueMismatch(position, value, 'a Date, or a bigint in its own unit')
      const time = BigInt(timeOf(value, position))
      const scaled = [time / 1000n, time, time * 1000n, time * 1_000_000n] as const
      // Times before 1970 round down, not towards zero.
      const seconds = time < 0n && time % 1000n !== 0n ? scaled[0] - 1n : scaled[0]
      return integer(type.unit === 0 ? seconds : scaled[type.unit], 64, true, position)
    }
    default:
      throw new TypeError('no type of numbers')
  }
}

function timeOf(date: Date, position: CellPosition): number {
  const time = date.getTime()
  if (Number.isNaN(time)) throw valueMismatch(position, date, 'a valid Date')
  return time
}

function integer(
  value: unknown,
  bits: number,
  signed: boolean,
  position: CellPosition,
  wanted = 'a whole number',
): number | bigint {
  // Most values fit, and computing the bounds takes longer than storing a value.
  if (bits === 64 && signed) {
    if (typeof value === 'bigint' && BigInt.asIntN(64, value) === value) return value
    if (Number.isSafeInteger(value)) return BigInt(value as number)
  }
  if (typeof value !== 'bigint' && !(typeof value === 'number' && Number.isInteger(value))) {
    throw valueMismatch(position, value, wanted)
  }
  const low = signed ? -(2n ** BigInt(bits - 1)) : 0n
  const high = low + 2n ** BigInt(bits) - 1n
  if (value < low || value > high) throw valueMismatch(position, value, `${wanted} from ${low} to ${high}`)
  if (bits < 64) return Number(value)
  if (typeof value === 'number' && !Number.isSafeInteger(value)) {
    throw valueMismatch(position, value, 'a bigint where a number is no longer exact')
  }
  return BigInt(value)
}

const decimalText = /^([+-]?)(\d+)(?:\.(\d+))?$/

function decimal(
  value: unknown,
  precision: number,
  scale: number,
  bits: number,
  position: CellPosition,
): number | bigint {
  const wanted = `decimals of ${precision} digits, ${scale} after the point, as text, number or unscaled bigint`
  let unscaled: bigint
  if (typeof value === 'bigint') {
    unscaled = value
  } else {
    const text =
      typeof value === 'number' || typeof value === 'string' ? decimalText.exec(String(value)) : null
    const [, sign, whole = '', fraction = ''] = text ?? []
    if (!text || scale < 0 || fraction.length > scale) throw valueMismatch(position, value, wanted)
    const digits = BigInt(whole + fraction.padEnd(scale, '0'))
    unscaled = sign === '-' ? -digits : digits
  }
  const limit = 10n ** BigInt(precision)
  if (unscaled >= limit || unscaled <= -limit) throw valueMismatch(position, value, wanted)
  return bits === 32 ? Number(unscaled) : unscaled
}
