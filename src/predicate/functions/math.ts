import type { DataType, DecimalType } from '@uwdata/flechette'
import { checkDigits, rescale, roundTo } from '../cast/numbers.ts'
import { isLiteral } from '../plan/fold.ts'
import { literal } from '../plan/literals.ts'
import type { Plan, Scalar } from '../plan/plan.ts'
import { cast } from '../plan/scope.ts'
import {
  boolean,
  decimalType,
  double,
  floatType,
  integerRange,
  isFloat,
  isInteger,
  isNull,
  isNumeric,
  long,
  Type,
  typeName,
} from '../plan/types.ts'
import {
  badValue,
  type Call,
  expectArguments,
  type FunctionPlanner,
  integerArgument,
  looseCall,
  strictCall,
  wrongType,
} from './signature.ts'

/** The float type a function of numbers gives: single when all it gets is single. */
function floatOf(call: Call, count = call.args.length): DataType {
  for (let i = 0; i < count; i++) {
    const { type } = call.args[i]!
    if (!isNumeric(type) && !isNull(type)) throw wrongType(call, i, 'a number')
  }
  return call.args.slice(0, count).every(({ type }) => isSingle(type)) ? floatType(1) : double
}

function isSingle(type: DataType): boolean {
  return typeName(type) === 'float'
}

function floats(call: Call, type: DataType, count = call.args.length): Plan[] {
  return call.args.slice(0, count).map((arg) => cast(call.scope, arg, type, call.at))
}

/** A function of floats. */
function ofFloats(evaluate: (...values: number[]) => number, count = 1): FunctionPlanner {
  return (call) => {
    expectArguments(call, count)
    const type = floatOf(call)
    const round = roundTo(type)
    const apply = (...values: number[]) => round(evaluate(...values))
    const kernel = count === 1 && type === double ? ({ kind: 'double', apply: evaluate } as const) : undefined
    return strictCall(call, type, floats(call, type), apply as (...values: never[]) => Scalar, kernel)
  }
}

/** Whether something holds of a float. */
function testFloat(test: (value: number) => boolean): FunctionPlanner {
  return (call) => {
    expectArguments(call, 1)
    const type = floatOf(call)
    return strictCall(call, boolean, floats(call, type), test as (value: never) => boolean)
  }
}

const abs: FunctionPlanner = (call) => {
  expectArguments(call, 1)
  const arg = call.args[0]!
  const { type } = arg
  if (!isNumeric(type) && !isNull(type)) throw wrongType(call, 0, 'a number')
  if (isFloat(type)) return strictCall(call, type, [arg], Math.abs, { kind: 'double', apply: Math.abs })
  const low = isInteger(type) ? integerRange(type)[0] : undefined
  return strictCall(call, isNull(type) ? long : type, [arg], (value: number | bigint) => {
    if (BigInt(value) === low && low < 0n) {
      throw badValue(call, `${value}, whose opposite exceeds its type,`, 'CAST it to a wider type.')
    }
    return value < 0 ? -value : value
  })
}

/** Rounds half away from zero. A decimal stays one, with no more decimals than asked for. */
const round: FunctionPlanner = (call) => {
  const [arg, decimals] = call.args
  if (call.args.length > 2 || arg?.type.typeId !== Type.Decimal) return toDecimals(roundHalfAway)(call)
  const { type } = arg
  if (decimals === undefined) return roundDecimal(call, arg, type, 0n)
  if (isLiteral(decimals) && isInteger(decimals.type) && decimals.value !== null)
    return roundDecimal(call, arg, type, BigInt(decimals.value as number | bigint))
  if (!isInteger(decimals.type)) return toDecimals(roundHalfAway)(call)
  return roundDecimal(call, arg, type)
}

/** A decimal with as many decimals as `count` says, or as the second argument says for each row. */
function roundDecimal(
  call: Call,
  arg: Plan,
  { precision, scale, bitWidth }: DecimalType,
  count?: bigint,
): Plan {
  const kept = count === undefined ? scale : Math.max(0, bounded(count, scale))
  // Rounding may carry into one more digit.
  const carries = count === undefined || bounded(count, scale) < scale
  const digits = Math.max(precision, precision - scale + kept + (carries ? 1 : 0))
  const type = decimalType(digits, kept, bitWidth)
  const fit = checkDigits(type as DecimalType)
  const fitted = (value: bigint) => {
    const rounded = fit(value)
    if (rounded !== undefined) return rounded
    throw badValue(call, `a result of more than ${digits} digits`, 'CAST the value to a wider decimal.')
  }
  const rounder = (places: number) => {
    const [cut, grow] = [rescale(scale, places), rescale(places, kept)]
    return (value: bigint) => fitted(grow(cut(value)))
  }
  if (count !== undefined) return strictCall(call, type, [arg], rounder(bounded(count, scale)))
  return strictCall(call, type, [arg, integerArgument(call, 1)], (value: bigint, places: bigint) =>
    rounder(bounded(places, scale))(value),
  )
}

/** A number of decimals that is not more than a decimal has, nor less than all its digits. */
function bounded(count: bigint, scale: number): number {
  return count < BigInt(scale) ? Number(count < -76n ? -76n : count) : scale
}

/** Rounds half away from zero, or cuts, to some decimals (or tens, when negative). */
function toDecimals(round: (value: number) => number, alone = round): FunctionPlanner {
  return (call) => {
    expectArguments(call, 1, 2)
    const type = floatOf(call, 1)
    const args = floats(call, type, 1)
    const fit = roundTo(type)
    if (call.args.length === 1) return strictCall(call, type, args, alone as (value: never) => number)
    args.push(integerArgument(call, 1))
    return strictCall(call, type, args, (value: number, decimals: bigint) => {
      const factor = fit(10 ** Number(decimals))
      const result = fit(round(fit(value * factor)) / factor)
      return Number.isFinite(result) ? result : value
    })
  }
}

function roundHalfAway(value: number): number {
  const cut = Math.trunc(value)
  return Math.abs(value - cut) >= 0.5 ? cut + Math.sign(value) : cut
}

/** A logarithm: to base 10 of one argument; of two, the first is the base. Its float type is that of the value. */
const log: FunctionPlanner = (call) => {
  expectArguments(call, 1, 2)
  floatOf(call)
  const value = call.args.at(-1)!.type
  const type = isFloat(value) ? value : double
  // The reference divides in single precision, also for halves.
  const round = roundTo(typeName(type) === 'double' ? double : floatType(1))
  const narrow = roundTo(type)
  const quotient = (base: number, of: number) => narrow(round(round(Math.log(of)) / round(Math.log(base))))
  const evaluate = call.args.length === 1 ? (of: number) => quotient(10, of) : quotient
  return strictCall(call, type, floats(call, type), evaluate as (...values: never[]) => Scalar)
}

const power: FunctionPlanner = (call) => {
  expectArguments(call, 2)
  floatOf(call)
  const [base, exponent] = call.args
  // The reference settles it before it looks at values, also those that are null.
  if (isLiteral(exponent!) && exponent.value !== null && Number(exponent.value) === 0 && !isNull(base!.type))
    return literal(double, 1)
  return strictCall(call, double, floats(call, double), (base: number, exponent: number) =>
    // Unlike in JavaScript, 1 to any power is 1 in IEEE 754.
    base === 1 || (base === -1 && !Number.isFinite(exponent) && !Number.isNaN(exponent))
      ? 1
      : base ** exponent,
  )
}

/** The second number where the first is NaN. */
const nanvl: FunctionPlanner = (call) => {
  expectArguments(call, 2)
  const isDouble =
    floatOf(call) === double && call.args.some(({ type }) => !isInteger(type) && !isSingle(type))
  const type = isDouble ? double : floatType(1)
  return looseCall(call, type, floats(call, type), (value = null, instead = null) =>
    Number.isNaN(value) ? instead : value,
  )
}

function ofIntegers(count: number, make: (call: Call) => (...values: bigint[]) => bigint): FunctionPlanner {
  return (call) => {
    expectArguments(call, count)
    const args = call.args.map((_, i) => integerArgument(call, i))
    return strictCall(call, long, args, make(call) as (...values: never[]) => Scalar)
  }
}

function greatestCommonDivisor(a: bigint, b: bigint): bigint {
  let [x, y] = [a < 0n ? -a : a, b < 0n ? -b : b]
  while (y !== 0n) [x, y] = [y, x % y]
  return x
}

function checked(call: Call, value: bigint): bigint {
  if (BigInt.asIntN(64, value) === value) return value
  throw badValue(call, 'a result that exceeds 64 bits', 'Leave such rows out.')
}

const factorial = ofIntegers(1, (call) => (value = 0n) => {
  if (value < 0n || value > 20n) throw badValue(call, `${value}`, 'It takes 0 to 20.')
  let result = 1n
  for (let i = 2n; i <= value; i++) result *= i
  return result
})

const lcm = ofIntegers(2, (call) => (a = 0n, b = 0n) => {
  if (a === 0n || b === 0n) return 0n
  const product = (a / greatestCommonDivisor(a, b)) * b
  return checked(call, product < 0n ? -product : product)
})

const pi: FunctionPlanner = (call) => {
  expectArguments(call, 0)
  return strictCall(call, double, [], () => Math.PI)
}

const powerOf = { power, pow: power }

export const mathFunctions: Record<string, FunctionPlanner> = {
  abs,
  round,
  trunc: toDecimals(Math.trunc, (value) => (value === 0 ? 0 : Math.trunc(value))),
  sqrt: ofFloats(Math.sqrt),
  cbrt: ofFloats(Math.cbrt),
  exp: ofFloats(Math.exp),
  ln: ofFloats(Math.log),
  log,
  log10: ofFloats(Math.log10),
  log2: ofFloats(Math.log2),
  ...powerOf,
  signum: ofFloats((value) => (value === 0 ? 0 : Math.sign(value))),
  isnan: testFloat(Number.isNaN),
  iszero: testFloat((value) => value === 0),
  degrees: ofFloats((value) => value * (180 / Math.PI)),
  radians: ofFloats((value) => value * (Math.PI / 180)),
  sin: ofFloats(Math.sin),
  cos: ofFloats(Math.cos),
  tan: ofFloats(Math.tan),
  cot: ofFloats((value) => 1 / Math.tan(value)),
  asin: ofFloats(Math.asin),
  acos: ofFloats(Math.acos),
  atan: ofFloats(Math.atan),
  atan2: ofFloats(Math.atan2, 2),
  sinh: ofFloats(Math.sinh),
  cosh: ofFloats(Math.cosh),
  tanh: ofFloats(Math.tanh),
  asinh: ofFloats(Math.asinh),
  acosh: ofFloats(Math.acosh),
  atanh: ofFloats(Math.atanh),
  pi,
  nanvl,
  factorial,
  gcd: ofIntegers(
    2,
    (call) =>
      (a = 0n, b = 0n) =>
        checked(call, greatestCommonDivisor(a, b)),
  ),
  lcm,
}
