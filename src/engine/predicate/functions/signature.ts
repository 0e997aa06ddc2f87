import type { DataType } from '@uwdata/flechette'
import type { CatalogError } from '../../../base/errors.ts'
import { castPlan } from '../cast/index.ts'
import { rowError } from '../errors.ts'
import { fold, isLiteral } from '../plan/fold.ts'
import type { FunctionKernel, OfNumbers, Plan, Scalar, ScalarFunction } from '../plan/plan.ts'
import { cast, refuse, type Scope } from '../plan/scope.ts'
import { isInteger, isNull, isText, long, sameType, text, typeName } from '../plan/types.ts'
import { charge } from '../work.ts'

/** A call to be planned: its name in small letters, and its arguments. */
export interface Call {
  readonly scope: Scope
  readonly name: string
  readonly args: readonly Plan[]
  readonly at: number
}

export type FunctionPlanner = (call: Call) => Plan

/** Refuses a call with fewer or more arguments. */
export function expectArguments(call: Call, least: number, most = least): void {
  const { length } = call.args
  if (length >= least && length <= most) return
  const count = least === most ? `${least}` : most === Infinity ? `at least ${least}` : `${least} to ${most}`
  const problem = `${call.name} with ${length} argument${length === 1 ? '' : 's'}`
  throw refuse(call.scope, call.at, problem, `It takes ${count}.`)
}

/** The error for an argument, counted from 0, whose type the function does not accept. */
export function wrongType(call: Call, index: number, expected: string): CatalogError {
  const got = typeName(call.args[index]!.type)
  const problem = `${call.name} with ${got} as argument ${index + 1}`
  return refuse(call.scope, call.at, problem, `It takes ${expected} there.`)
}

/** An argument that is text, or NULL. */
export function textArgument(call: Call, index: number): Plan {
  const arg = call.args[index]!
  if (!isText(arg.type) && !isNull(arg.type)) throw wrongType(call, index, 'a string')
  return cast(call.scope, arg, text, call.at)
}

/** An argument of any type that can be converted to text. */
export function asText(call: Call, index: number): Plan {
  return cast(call.scope, call.args[index]!, text, call.at)
}

/** The value of an argument that must be constant; undefined if the argument is missing. */
export function constantArgument(call: Call, index: number): Scalar | undefined {
  const arg = call.args[index]
  if (arg === undefined) return undefined
  if (isLiteral(arg)) return arg.value
  const problem = `${call.name} with a value that differs from row to row as argument ${index + 1}`
  throw refuse(call.scope, call.at, problem, 'It takes a constant there.')
}

/** A call that is null if an argument is null. */
export function strictCall(
  call: Call,
  type: DataType,
  args: readonly Plan[],
  evaluate: (...values: never[]) => Scalar,
  kernel?: FunctionKernel,
  ofNumbers?: OfNumbers,
): Plan {
  const { name, at } = call
  // The caller has cast the arguments to the types of `evaluate`.
  const strict = {
    name,
    strict: true,
    evaluate: evaluate as ScalarFunction['evaluate'],
    ...(kernel && { kernel }),
    ofNumbers,
  }
  return fold({ kind: 'call', type, function: strict, args, at })
}

/** A call whose function also handles nulls. */
export function looseCall(
  call: Call,
  type: DataType,
  args: readonly Plan[],
  evaluate: (...values: Scalar[]) => Scalar,
  ofNumbers?: OfNumbers,
): Plan {
  const { name, at } = call
  return fold({ kind: 'call', type, function: { name, strict: false, evaluate, ofNumbers }, args, at })
}

/** A cast by a function. Comparisons of its result are not rewritten to compare its argument. */
export function conversion(call: Call, plan: Plan, type: DataType): Plan {
  // A literal that cannot be converted fails for the rows that use it, as in other functions.
  const isGiven = isLiteral(plan) && plan.value !== null && !sameType(plan.type, type)
  const converted =
    (isGiven ? castPlan(plan, type, false, call.at) : undefined) ?? cast(call.scope, plan, type, call.at)
  return converted.kind === 'cast' ? strictCall(call, type, [converted.arg], converted.convert) : converted
}

/** The error for a row's value that the function cannot accept. */
export function badValue(
  call: Call,
  problem: string,
  remedy: string,
  options?: { cause?: unknown },
): CatalogError {
  return rowError(call.at, `${call.name}: ${problem}`, remedy, options)
}

/** An argument that is an integer, or NULL, as a 64-bit one. */
export function integerArgument(call: Call, index: number): Plan {
  const arg = call.args[index]!
  if (!isInteger(arg.type) && !isNull(arg.type)) throw wrongType(call, index, 'an integer')
  return cast(call.scope, arg, long, call.at)
}

/** Steps for a character of a text that is split into characters. */
export const stepsOfCharacter = 40

/** Charges steps beyond those for the size of a function's values; refuses too many. */
export function chargeCall(call: Call, steps: number): void {
  charge(steps, call.name, call.at)
}

/** The longest text that a function returns. Longer ones are refused, so that no row can take all memory. */
const maxTextLength = 1_048_576

/** Refuses a text that would be too long. */
export function checkLength(call: Call, length: number): void {
  if (length <= maxTextLength) return
  throw badValue(call, `a result of ${length} characters`, `It can have ${maxTextLength}.`)
}

/** The same for texts to be joined. */
export function checkJoined(call: Call, texts: readonly string[], separator: string): void {
  const length = texts.reduce((sum, text) => sum + text.length, 0)
  checkLength(call, length + separator.length * Math.max(0, texts.length - 1))
}
