import { type DataType, Type, uint64 } from '@uwdata/flechette'
import { converter } from '../cast/index.ts'
import type { LiteralPlan, Scalar } from './plan.ts'
import {
  double,
  integer,
  isDate,
  isFloat,
  isInteger,
  isNull,
  isTimestamp,
  logicalType,
  long,
  sameType,
} from './types.ts'

/** The plan of a literal. */
export function literal(type: DataType, value: Scalar): LiteralPlan {
  return { kind: 'literal', type, value }
}

/** The value of a number as written: an integer if it fits into 64 bits, otherwise a float. */
export function numberLiteral(text: string): LiteralPlan {
  const digits = text.endsWith('L') ? text.slice(0, -1) : text
  if (/^-?\d{1,30}$/.test(digits)) {
    const value = BigInt(digits)
    // The least 64-bit integer is not an integer in the reference, which parses the digits before the minus.
    if (BigInt.asIntN(64, value) === value && value !== -(2n ** 63n)) return literal(long, value)
    if (value >= 0n && BigInt.asUintN(64, value) === value) return literal(uint64(), value)
  }
  return literal(double, Number(digits))
}

/**
 * Converts a literal to the type of the column beside it. Undefined if it is of another kind, as kinds are never mixed
 * there. Source: `safe_coerce_scalar` of lance-datafusion, as observed from outside.
 */
export function literalAs(plan: LiteralPlan, columnType: DataType): LiteralPlan | undefined {
  const { type: from, value } = plan
  const to = logicalType(columnType)
  if (isNull(from)) return plan
  if (!isSameKind(from, to)) return undefined
  if (value === null || sameType(from, to)) return literal(to, value)
  if (isShortTime(to))
    return literalAs({ kind: 'literal', type: from, value }, integer) && literal(to, Number(value))
  const converted = converter(from, to)?.(value)
  if (converted === undefined) return undefined
  const isTooLarge = isHalf(to) && !Number.isFinite(converted) && Number.isFinite(Number(value))
  return isTooLarge ? undefined : literal(to, converted)
}

function isSameKind(from: DataType, to: DataType): boolean {
  switch (from.typeId) {
    case Type.Int:
      // Decimals accept whole numbers only, and times only if they are 32 bits wide.
      return isInteger(to) || isFloat(to) || to.typeId === Type.Decimal || isShortTime(to)
    case Type.Float:
      return isFloat(to)
    case Type.Timestamp:
      return isTimestamp(to)
    case Type.Date:
      return isDate(to)
    default:
      return from.typeId === to.typeId
  }
}

function isShortTime(type: DataType): boolean {
  return type.typeId === Type.Time && type.bitWidth === 32
}

function isHalf(type: DataType): boolean {
  return type.typeId === Type.Float && type.precision === 0
}
