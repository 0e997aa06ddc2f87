import { type DataType, Type } from '@uwdata/flechette'
import type { ShiftOperator } from '../syntax/syntax.ts'
import { fold } from './fold.ts'
import type { Plan, Scalar } from './plan.ts'
import { cast, refuse, type Scope } from './scope.ts'
import { integerType, isInteger, isNull, isNumeric, sameType, typeName } from './types.ts'

/**
 * `left << right` and `left >> right`. The count is taken modulo the bits of the type, and a right shift keeps the
 * sign. Source: `arrow_arith::bitwise`.
 */
export function shiftPlan(scope: Scope, operator: ShiftOperator, left: Plan, right: Plan, at: number): Plan {
  const type = shiftType(left.type, right.type)
  if (type?.typeId !== Type.Int) {
    const problem = `${operator} between ${typeName(left.type)} and ${typeName(right.type)}`
    throw refuse(scope, at, problem, 'It moves the bits of a whole number, by a whole number.')
  }
  const { bitWidth, signed } = type
  const fit = signed ? BigInt.asIntN : BigInt.asUintN
  const evaluate = (value: Scalar = null, count: Scalar = null): Scalar => {
    const bits = BigInt.asUintN(64, BigInt(count as number | bigint)) % BigInt(bitWidth)
    const whole = BigInt(value as number | bigint)
    const moved = fit(bitWidth, operator === '<<' ? whole << bits : whole >> bits)
    return bitWidth === 64 ? moved : Number(moved)
  }
  const args = [cast(scope, left, type, at), cast(scope, right, type, at)]
  return fold({ kind: 'call', type, function: { name: operator, strict: true, evaluate }, args, at })
}

/**
 * The common type of both sides of a shift, if any. Source: `bitwise_coercion` of DataFusion 54, as observed from
 * outside.
 */
function shiftType(a: DataType, b: DataType): DataType | undefined {
  if (isNull(a) || isNull(b)) return isInteger(a) ? a : isInteger(b) ? b : undefined
  if (!isNumeric(a) || !isNumeric(b)) return undefined
  if (sameType(a, b)) return isInteger(a) ? a : undefined
  const [left, right] = [bitsOf(a), bitsOf(b)]
  const width = Math.max(left.width, right.width)
  if (width === 0) return undefined
  const unsigned = Math.max(left.signed ? 0 : left.width, right.signed ? 0 : right.width)
  const signed = Math.max(left.signed ? left.width : 0, right.signed ? right.width : 0)
  // Of a float or a decimal beside a whole number, only the whole part counts.
  if (unsigned === 64 || signed === 0) return integerType(false, width as 8 | 16 | 32 | 64)
  return integerType(true, (unsigned >= signed ? unsigned * 2 : signed) as 8 | 16 | 32 | 64)
}

function bitsOf(type: DataType): { readonly width: number; readonly signed: boolean } {
  return type.typeId === Type.Int ? { width: type.bitWidth, signed: type.signed } : { width: 0, signed: true }
}
