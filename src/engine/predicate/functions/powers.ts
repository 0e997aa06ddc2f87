import type { DataType, DecimalType } from '@uwdata/flechette'
import { formatDecimal } from '../../arrow/decimals.ts'
import { floatToDecimal, roundTo } from '../cast/numbers.ts'
import { isLiteral } from '../plan/fold.ts'
import { literal } from '../plan/literals.ts'
import type { Plan, Scalar } from '../plan/plan.ts'
import { cast } from '../plan/scope.ts'
import {
  double,
  floatType,
  isDecimal,
  isFloat,
  isInteger,
  isNull,
  long,
  Type,
  typeName,
} from '../plan/types.ts'
import { floatOf, floats } from './floats.ts'
import { badValue, type Call, expectArguments, type FunctionPlanner, strictCall } from './signature.ts'

/* Logarithms and powers. */

/** A logarithm: to base 10 of one argument; of two, the first is the base. Its float type is the value's. */
export const log: FunctionPlanner = (call) => {
  expectArguments(call, 1, 2)
  floatOf(call)
  const value = call.args.at(-1)!.type
  const type = isFloat(value) ? value : double
  const known = simplifiedLog(call, type)
  if (known) return known
  // The reference divides in single precision, also for halves.
  const round = roundTo(typeName(type) === 'double' ? double : floatType(1))
  const narrow = roundTo(type)
  const quotient = (base: number, of: number) => narrow(round(round(Math.log(of)) / round(Math.log(base))))
  const evaluate = call.args.length === 1 ? (of: number) => quotient(10, of) : quotient
  return strictCall(
    call,
    type,
    floats(call, type),
    evaluate as (...values: never[]) => Scalar,
    undefined,
    evaluate,
  )
}

/**
 * The result of a logarithm that the reference simplifies before it reads values, even if these are null or invalid.
 */
function simplifiedLog(call: Call, type: DataType): Plan | undefined {
  const [base, value] = call.args
  if (value === undefined || call.args.every(isLiteral) || isNull(base!.type) || isDecimal(value.type))
    return undefined
  if (isLiteral(value) && Number(value.value) === 1)
    return literal(isFloat(base!.type) ? base!.type : double, 0)
  if (samePlan(base!, value)) return literal(type, 1)
  const exponent = inverse('power', cast(call.scope, base!, type, call.at), value)
  return exponent && cast(call.scope, exponent, type, call.at)
}

/** The second argument of a call of `name` whose first argument equals `base`. */
function inverse(name: string, base: Plan, plan: Plan): Plan | undefined {
  if (plan.kind !== 'call' || plan.function.name !== name || plan.args.length !== 2) return undefined
  const [first, second] = plan.args
  return samePlan(base, first!) ? second : undefined
}

function samePlan(a: Plan, b: Plan): boolean {
  return planKey(a) === planKey(b)
}

/** A key for what a plan computes, wherever it is in the text. */
function planKey(plan: Plan): string {
  return JSON.stringify(plan, (key, part) =>
    key === 'at' ? undefined : typeof part === 'bigint' ? `${part}n` : part,
  )
}

export const power: FunctionPlanner = (call) => {
  expectArguments(call, 2)
  floatOf(call)
  const [base, exponent] = call.args
  const { type } = base!
  // The reference simplifies these before it reads values, even if these are null.
  if (isLiteral(exponent!) && exponent.value !== null && Number(exponent.value) === 0 && !isNull(type))
    return type.typeId === Type.Decimal ? literal(type, 10n ** BigInt(type.scale)) : literal(double, 1)
  const isWhole = isInteger(exponent!.type)
  if (type.typeId === Type.Decimal) {
    const args = [base!, cast(call.scope, exponent!, isWhole ? long : double, call.at)]
    return strictCall(call, type, args, decimalPower(call, type))
  }
  const isWide = isInteger(type) || typeName(type) === 'double'
  const value = isWide ? inverse('log', cast(call.scope, base!, double, call.at), exponent!) : undefined
  if (value) return cast(call.scope, value, double, call.at)
  return strictCall(call, double, floats(call, double), powerOf, undefined, powerOf)
}

function powerOf(base: number, exponent: number): number {
  // In IEEE 754, 1 to any power is 1; in JavaScript it is not.
  const isOne = base === 1 || (base === -1 && !Number.isFinite(exponent) && !Number.isNaN(exponent))
  return isOne ? 1 : base ** exponent
}

/**
 * The power of a decimal, with as many decimals. As in the reference, a constant whole exponent gives an exact result,
 * which is cut. Others are computed as doubles: a result out of range is NULL if the exponent is not constant.
 */
function decimalPower(
  call: Call,
  type: DecimalType,
): (base: bigint, exponent: bigint | number) => bigint | null {
  const { scale, bitWidth } = type
  const isConstant = isLiteral(call.args[1]!)
  const fit = floatToDecimal(type)
  const fail = (base: bigint, exponent: bigint | number) => {
    const problem = `${formatDecimal(base, scale)} to the power of ${exponent}, which has no place`
    return badValue(call, problem, 'CAST it to DOUBLE.')
  }
  const exact = (base: bigint, exponent: number) => {
    const isSmall = base * base <= 1n
    const decimals = scale * (exponent - 1)
    // A larger result has more bits or decimals than a decimal can have.
    if ((!isSmall && exponent > bitWidth) || decimals > (bitWidth === 256 ? 76 : 38)) return undefined
    const powered = base ** BigInt(isSmall && exponent > 2 ? 2 - (exponent % 2) : exponent)
    return BigInt.asIntN(bitWidth, powered) === powered ? powered / 10n ** BigInt(decimals) : undefined
  }
  return (base, exponent) => {
    if (isConstant && exponent > 0 && Number.isInteger(Number(exponent))) {
      const powered = exact(base, Number(exponent))
      if (powered === undefined) throw fail(base, exponent)
      return powered
    }
    const value = powerOf(Number(base) / 10 ** scale, Number(exponent))
    if (!Number.isFinite(value) && (isConstant || base === 0n)) throw fail(base, exponent)
    return (fit(value) as bigint | undefined) ?? null
  }
}
