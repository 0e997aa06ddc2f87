import { type DecimalType, Type } from '@uwdata/flechette'
import { formatDecimal } from '../../arrow/decimals.ts'
import { checkDigits, rescale } from '../cast/numbers.ts'
import { rowError } from '../errors.ts'
import type { ArithmeticOperator } from '../syntax/syntax.ts'
import { asDecimal, numericType } from './coerce.ts'
import type { OfNumbers, Plan } from './plan.ts'
import { cast, refuse, type Scope } from './scope.ts'
import { decimalType, isDecimal } from './types.ts'

/** Arithmetic on decimals and integers. Source of the result's digits: `arrow_arith::numeric::decimal_op`. */
export function decimalArithmetic(
  scope: Scope,
  operator: ArithmeticOperator,
  left: Plan,
  right: Plan,
  at: number,
): Plan {
  const [a, b] =
    isDecimal(left.type) && isDecimal(right.type)
      ? alike(scope, left, right, at)
      : [toDecimal(scope, left, at), toDecimal(scope, right, at)]
  const x = a.type as DecimalType
  const y = b.type as DecimalType
  const type = resultType(operator, x, y)
  if (type.scale > 38 && type.bitWidth === 128) {
    throw refuse(scope, at, 'decimals with too many digits to multiply', 'CAST them to DOUBLE.')
  }
  const evaluate = calculator(operator, x, y, type, at)
  return {
    kind: 'call',
    type,
    function: {
      name: `decimal ${operator}`,
      strict: true,
      evaluate: (m, n) => evaluate(m as bigint, n as bigint),
      ofNumbers: ofNumbers(operator, x, y, type),
    },
    args: [a, b],
    at,
  }
}

/** Decimals of 256 bits and narrower ones are first cast to one type. */
function alike(scope: Scope, a: Plan, b: Plan, at: number): readonly [Plan, Plan] {
  const [x, y] = [a.type as DecimalType, b.type as DecimalType]
  if (x.bitWidth === y.bitWidth || Math.max(x.bitWidth, y.bitWidth) < 256) return [a, b]
  const type = numericType(x, y)!
  return [cast(scope, a, type, at), cast(scope, b, type, at)]
}

function toDecimal(scope: Scope, plan: Plan, at: number): Plan {
  if (plan.type.typeId === Type.Decimal) return plan
  const { precision, scale } = asDecimal(plan.type)!
  return cast(scope, plan, decimalType(precision, scale, 128), at)
}

function resultType(operator: ArithmeticOperator, x: DecimalType, y: DecimalType): DecimalType {
  const bitWidth = Math.max(x.bitWidth, y.bitWidth, 128) as 128 | 256
  const make = (precision: number, scale: number) =>
    ({ ...decimalType(precision, 0, bitWidth), scale }) as DecimalType
  const scale = Math.max(x.scale, y.scale)
  switch (operator) {
    case '+':
    case '-':
      return make(scale + Math.max(x.precision - x.scale, y.precision - y.scale) + 1, scale)
    case '*':
      return make(x.precision + y.precision + 1, x.scale + y.scale)
    case '/': {
      const more = Math.min(x.scale + 4, bitWidth === 128 ? 38 : 76)
      return make(more - x.scale + y.scale + x.precision, more)
    }
    default:
      return make(Math.min(x.precision - x.scale, y.precision - y.scale) + scale, scale)
  }
}

function calculator(
  operator: ArithmeticOperator,
  x: DecimalType,
  y: DecimalType,
  type: DecimalType,
  at: number,
): (a: bigint, b: bigint) => bigint {
  const scale = Math.max(x.scale, y.scale)
  const held = (value: bigint) => {
    if (BigInt.asIntN(type.bitWidth, value) === value) return value
    throw rowError(at, `a decimal that exceeds ${type.bitWidth} bits`, 'CAST the values to DOUBLE.')
  }
  const scaled = (from: number, to: number) => {
    const move = rescale(from, to)
    return (value: bigint) => held(move(value))
  }
  const left = scaled(x.scale, scale)
  const right = scaled(y.scale, scale)
  const dividend = scaled(x.scale, type.scale + y.scale)
  switch (operator) {
    case '+':
      return (a, b) => held(left(a) + right(b))
    case '-':
      return (a, b) => held(left(a) - right(b))
    case '*':
      return (a, b) => held(a * b)
    default:
      return (a, b) => {
        if (b === 0n)
          throw rowError(at, 'division by zero', 'Leave out such rows: nullif(divisor, 0) makes them NULL.')
        return operator === '/' ? dividend(a) / b : left(a) % right(b)
      }
  }
}

/** As `calculator`, as long as every step stays a safe integer. */
function ofNumbers(
  operator: ArithmeticOperator,
  x: DecimalType,
  y: DecimalType,
  type: DecimalType,
): OfNumbers | undefined {
  if (operator === '*') return (a, b) => a * b
  const scale = Math.max(x.scale, y.scale)
  const [left, right, dividend] = [scale - x.scale, scale - y.scale, type.scale + y.scale - x.scale].map(
    (digits) => 10 ** digits,
  ) as [number, number, number]
  const scaled = (use: (a: number, b: number) => number | undefined): OfNumbers => {
    if (left === 1 && right === 1) return use
    return (a, b) => {
      const [m, n] = [a * left, b * right]
      return Number.isSafeInteger(m) && Number.isSafeInteger(n) ? use(m, n) : undefined
    }
  }
  switch (operator) {
    case '+':
      return scaled((m, n) => m + n)
    case '-':
      return scaled((m, n) => m - n)
    case '%':
      return scaled((m, n) => (n === 0 ? undefined : m % n))
    default:
      if (dividend < 1) return undefined
      return (a, b) => {
        const product = a * dividend
        return b !== 0 && Number.isSafeInteger(product) ? Math.trunc(product / b) : undefined
      }
  }
}

/** Refuses a decimal with more digits than its type, which a column could not store. */
export function checkedDecimal(plan: Plan, at: number): Plan {
  if (plan.type.typeId !== Type.Decimal || plan.kind === 'column' || plan.kind === 'literal') return plan
  const { type } = plan
  const fit = checkDigits(type)
  const evaluate = (value: unknown) => {
    const fitted = fit(value as bigint)
    if (fitted !== undefined) return fitted
    const problem = `a decimal of more than ${type.precision} digits, ${formatDecimal(value as bigint, type.scale)},`
    throw rowError(at, problem, 'CAST the values to DOUBLE.')
  }
  const limit = 10 ** Math.min(type.precision, 15)
  const ofNumbers: OfNumbers = (value) => (value < limit && value > -limit ? value : undefined)
  return {
    kind: 'call',
    type,
    function: { name: 'decimal', strict: true, evaluate, ofNumbers },
    args: [plan],
    at,
  }
}

export function negateDecimal(arg: Plan, at: number): Plan {
  const evaluate = (value: unknown) => -(value as bigint)
  return {
    kind: 'call',
    type: arg.type,
    function: { name: 'decimal -', strict: true, evaluate, ofNumbers: (value) => -value },
    args: [arg],
    at,
  }
}
