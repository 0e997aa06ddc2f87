import { type DataType, Type } from '@uwdata/flechette'
import type { ArithmeticOperator } from '../syntax/syntax.ts'
import { numericType } from './coerce.ts'
import { decimalArithmetic, negateDecimal } from './decimal-arithmetic.ts'
import { fold } from './fold.ts'
import type { Plan } from './plan.ts'
import { cast, refuse, type Scope } from './scope.ts'
import { timeArithmetic } from './time-arithmetic.ts'
import { isDecimal, isFloat, isNull, isNumeric, long, typeName } from './types.ts'

/** `left operator right` on numbers, dates or times, as far as it is defined for them. */
export function arithmeticPlan(
  scope: Scope,
  operator: ArithmeticOperator,
  left: Plan,
  right: Plan,
  at: number,
): Plan {
  const a = withoutNull(scope, left, right.type, at)
  const b = withoutNull(scope, right, left.type, at)
  const type = arithmeticType(a.type, b.type)
  if (type && !isDecimal(type)) {
    const sides = { left: cast(scope, a, type, at), right: cast(scope, b, type, at) }
    return fold({ kind: 'arithmetic', type, operator, ...sides, at })
  }
  const plan = type ? decimalArithmetic(scope, operator, a, b, at) : timeArithmetic(scope, operator, a, b, at)
  if (plan) return fold(plan)
  const problem = `${operator} between ${typeName(left.type)} and ${typeName(right.type)}`
  throw refuse(
    scope,
    at,
    problem,
    'Arithmetic takes numbers, and dates and timestamps where it has a meaning.',
  )
}

/** A NULL literal takes the other side's type. */
function withoutNull(scope: Scope, plan: Plan, other: DataType, at: number): Plan {
  if (!isNull(plan.type)) return plan
  return cast(scope, plan, isNull(other) ? long : other, at)
}

/** The type in which two numbers are computed; undefined if one of them is not a number. */
function arithmeticType(a: DataType, b: DataType): DataType | undefined {
  if (!isNumeric(a) || !isNumeric(b)) return undefined
  // Unlike in comparisons, a float and a decimal are computed as floats here.
  if (isFloat(a) && isDecimal(b)) return a
  if (isDecimal(a) && isFloat(b)) return b
  return numericType(a, b)
}

/** `-arg`. */
export function negatePlan(scope: Scope, arg: Plan, at: number): Plan {
  const { type } = arg
  if (isDecimal(type)) return fold(negateDecimal(arg, at))
  if (isFloat(type) || (type.typeId === Type.Int && type.signed))
    return fold({ kind: 'negate', type, arg, at })
  const problem = `the negative of a value of type ${typeName(type)}`
  throw refuse(scope, at, problem, 'Only signed numbers have one; CAST the value to BIGINT or DOUBLE.')
}
