import type { DataType } from '@uwdata/flechette'
import type { CatalogError } from '../../../base/errors.ts'
import { castPlan } from '../cast/index.ts'
import { rowError } from '../errors.ts'
import { fold, isLiteral } from '../plan/fold.ts'
import type { Kernel, Plan, Scalar, ScalarFunction } from '../plan/plan.ts'
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

/** The error that an argument, counted from 0, is of a type the function does not take. */
export function wrongType(call: Call, index: number, expected: string): CatalogError {
  const got = typeName(call.args[index]!.type)
  const problem = `${call.name} with ${got} as argument ${index + 1}`
  return refuse(call.scope, call.at, problem, `It takes ${expected} there.`)
}

/** An argument that is text already, or NULL. */
export function textArgument(call: Call, index: number): Plan {
  const arg = call.args[index]!
  if (!isText(arg.type) && !isNull(arg.type)) throw wrongType(call, index, 'a string')
  return cast(call.scope, arg, text, call.at)
}

/** An argument of any type that can be written as text. */
export function asText(call: Call, index: number): Plan {
  return cast(call.scope, call.args[index]!, text, call.at)
}

/** The value of an argument that must be the same for all rows; undefined when the argument is missing. */
export function constantArgument(call: Call, index: number): Scalar | undefined {
  const arg = call.args[index]
  if (arg === undefined) return undefined
  if (isLiteral(arg)) return arg.value
  const problem = `${call.name} with a value that differs from row to row as argument ${index + 1}`
  throw refuse(call.scope, call.at, problem, 'It takes a constant there.')
}

/** A call that is null when an argument is. */
export function strictCall(
  call: Call,
  type: DataType,
  args: readonly Plan[],
  evaluate: (...values: never[]) => Scalar,
  kernel?: Kernel,
): Plan {
  const { name, at } = call
  // What the arguments were cast to is what `evaluate` says it takes.
  const strict = {
    name,
    strict: true,
    evaluate: evaluate as ScalarFunction['evaluate'],
    ...(kernel && { kernel }),
  }
  return fold({ kind: 'call', type, function: strict, args, at })
}

/** A call that is handed nulls, too. */
export function looseCall(
  call: Call,
  type: DataType,
  args: readonly Plan[],
  evaluate: (...values: Scalar[]) => Scalar,
): Plan {
  const { name, at } = call
  return fold({ kind: 'call', type, function: { name, strict: false, evaluate }, args, at })
}

/** A conversion that is the function's own: comparisons of its result are not turned into ones of its argument. */
export function conversion(call: Call, plan: Plan, type: DataType): Plan {
  // A literal that cannot be converted fails for the rows that ask for it, as it does in other functions.
  const isGiven = isLiteral(plan) && plan.value !== null && !sameType(plan.type, type)
  const converted =
    (isGiven ? castPlan(plan, type, false, call.at) : undefined) ?? cast(call.scope, plan, type, call.at)
  return converted.kind === 'cast' ? strictCall(call, type, [converted.arg], converted.convert) : converted
}

/** The error that a row's value is none the function can take. */
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

/** Steps of a character of a text that is taken apart. */
export const stepsOfCharacter = 40

/** Announces steps that a function takes beyond those for the size of its values; refuses too many. */
export function chargeCall(call: Call, steps: number): void {
  charge(steps, call.name, call.at)
}

/** The longest text a function makes: what is longer is refused, so that no row can take all memory. */
const maxTextLength = 1_048_576

/** Refuses to make a text that is too long. */
export function checkLength(call: Call, length: number): void {
  if (length <= maxTextLength) return
  throw badValue(call, `a result of ${length} characters`, `It can have ${maxTextLength}.`)
}

/** The same for texts that are to be joined. */
export function checkJoined(call: Call, texts: readonly string[], separator: string): void {
  const length = texts.reduce((sum, text) => sum + text.length, 0)
  checkLength(call, length + separator.length * Math.max(0, texts.length - 1))
}
