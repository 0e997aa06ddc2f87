import type { DecimalType } from '@uwdata/flechette'
import { checkDigits, rescale, roundTo } from '../cast/numbers.ts'
import { isLiteral } from '../plan/fold.ts'
import type { Plan, Scalar } from '../plan/plan.ts'
import { cast } from '../plan/scope.ts'
import {
  boolean,
  decimalType,
  double,
  floatType,
  integer,
  integerRange,
  isFloat,
  isInteger,
  isNull,
  isNumeric,
  long,
  Type,
  typeName,
} from '../plan/types.ts'
import { floatOf, floats, singleOf } from './floats.ts'
import { log, power } from './powers.ts'
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

/** A function on floats. */
function ofFloats(evaluate: (...values: number[]) => number, count = 1): FunctionPlanner {
  return (call) => {
    expectArguments(call, count)
    const type = floatOf(call)
    const round = roundTo(type)
    const apply = (...values: number[]) => round(evaluate(...values))
    const kernel = count === 1 && type === double ? ({ kind: 'double', apply: evaluate } as const) : undefined
    const ofNumbers = count === 1 ? (value: number) => round(evaluate(value)) : apply
    return strictCall(
      call,
      type,
      floats(call, type),
      apply as (...values: never[]) => Scalar,
      kernel,
      ofNumbers,
    )
  }
}

const atan2: FunctionPlanner = (call) => {
  expectArguments(call, 2)
  const type = singleOf(call)
  const round = roundTo(type)
  const apply = (y: number, x: number) => round(Math.atan2(y, x))
  return strictCall(call, type, floats(call, type), apply, undefined, apply)
}

/** A test on a float. */
function testFloat(test: (value: number) => boolean): FunctionPlanner {
  return (call) => {
    expectArguments(call, 1)
    const type = floatOf(call)
    return strictCall(call, boolean, floats(call, type), test as (value: never) => boolean, undefined, test)
  }
}

const abs: FunctionPlanner = (call) => {
  expectArguments(call, 1)
  const arg = call.args[0]!
  const { type } = arg
  if (!isNumeric(type) && !isNull(type)) throw wrongType(call, 0, 'a number')
  if (isFloat(type)) {
    return strictCall(call, type, [arg], Math.abs, { kind: 'double', apply: Math.abs }, Math.abs)
  }
  const low = isInteger(type) ? integerRange(type)[0] : undefined
  const least = low === undefined || low === 0n ? -Infinity : Number(low)
  const evaluate = (value: number | bigint) => {
    if (BigInt(value) === low && low < 0n) {
      throw badValue(call, `${value}, whose opposite exceeds its type,`, 'CAST it to a wider type.')
    }
    return value < 0 ? -value : value
  }
  const ofNumbers = (value: number) => (value === least ? undefined : Math.abs(value))
  return strictCall(call, isNull(type) ? long : type, [arg], evaluate, undefined, ofNumbers)
}

/** Rounds half away from zero. A decimal stays a decimal, with at most as many decimals as requested. */
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

/** A decimal with `count` decimals, or with as many as the second argument has for each row. */
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

/** A number of decimals, limited to those of the type, and at least minus the number of its digits. */
function bounded(count: bigint, scale: number): number {
  return count < BigInt(scale) ? Number(count < -76n ? -76n : count) : scale
}

/** Rounds half away from zero, or cuts, to some decimals (or tens, if negative). */
function toDecimals(round: (value: number) => number, alone = round, typeOf = floatOf): FunctionPlanner {
  return (call) => {
    expectArguments(call, 1, 2)
    const type = floatOf(call, 1)
    if (call.args.length === 1) {
      const evaluate = alone as (value: never) => number
      return strictCall(call, type, floats(call, type, 1), evaluate, undefined, alone)
    }
    const target = typeOf(call, 1)
    const fit = roundTo(target)
    const decimals = cast(call.scope, integerArgument(call, 1), integer, call.at)
    const evaluate = (value: number, decimals: number) => {
      const factor = fit(10 ** decimals)
      return fit(round(fit(value * factor)) / factor)
    }
    return strictCall(call, target, [...floats(call, target, 1), decimals], evaluate, undefined, evaluate)
  }
}

function roundHalfAway(value: number): number {
  const cut = Math.trunc(value)
  return Math.abs(value - cut) >= 0.5 ? cut + Math.sign(value) : cut
}

/** Returns the second number where the first is NaN. */
const nanvl: FunctionPlanner = (call) => {
  expectArguments(call, 2)
  const isHalf = call.args.every(({ type }) => isNull(type) || typeName(type) === 'halffloat')
  const type = isHalf ? floatType(0) : singleOf(call)
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

export const mathFunctions: Record<string, FunctionPlanner> = {
  abs,
  round,
  trunc: toDecimals(Math.trunc, (value) => (value === 0 ? 0 : Math.trunc(value)), singleOf),
  sqrt: ofFloats(Math.sqrt),
  cbrt: ofFloats(Math.cbrt),
  exp: ofFloats(Math.exp),
  ln: ofFloats(Math.log),
  log,
  log10: ofFloats(Math.log10),
  log2: ofFloats(Math.log2),
  power,
  pow: power,
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
  atan2,
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
