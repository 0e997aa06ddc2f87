import type { DataType, Schema } from '@uwdata/flechette'
import type { CatalogError } from '../../../base/errors.ts'
import { castPlan } from '../cast/index.ts'
import { predicateError } from '../errors.ts'
import { isLiteral } from './fold.ts'
import { literal } from './literals.ts'
import type { Plan } from './plan.ts'
import { isNull, sameType, typeName } from './types.ts'

/** The text and the schema a predicate is bound to. */
export interface Scope {
  readonly text: string
  readonly schema: Schema
  /** The time that `now()` returns, in milliseconds since the epoch: the same for all rows. */
  readonly now: () => number
  /** Whether the text is a condition for rows, or an expression for values. */
  readonly wanted: 'condition' | 'value'
}

/** The error for something in the text that is not allowed. */
export function refuse(
  scope: Scope,
  at: number,
  problem: string,
  remedy: string,
  options?: { cause?: unknown },
): CatalogError {
  return predicateError(scope.text, at, problem, remedy, options)
}

/** Casts a plan's value. Converts a constant now, so that its error is one of the predicate and not of a row. */
export function cast(scope: Scope, plan: Plan, type: DataType, at: number, orNull = false): Plan {
  if (sameType(plan.type, type)) return plan
  if (isNull(plan.type)) return literal(type, null)
  const converted = castPlan(plan, type, orNull, at)
  if (!converted) throw noCast(scope, plan.type, type, at)
  if (!isLiteral(plan)) return converted
  if (plan.value === null) return literal(type, null)
  try {
    return literal(type, converted.convert(plan.value))
  } catch (cause) {
    const problem = `the ${typeName(plan.type)} ${shown(plan.value)} that is no ${typeName(type)}`
    const remedy = `Write a value that can be read as ${typeName(type)}.`
    throw refuse(scope, at, problem, remedy, { cause })
  }
}

function noCast(scope: Scope, from: DataType, to: DataType, at: number): CatalogError {
  const problem = `a value of type ${typeName(from)} where ${typeName(to)} is needed, to which it cannot be cast,`
  return refuse(scope, at, problem, 'Compare values of the same type, or CAST through STRING.')
}

/**
 * As `cast`, for a comparison. If no value can be converted, a literal beside it may still have a value of its type.
 * Otherwise `checkedCasts` refuses the cast.
 */
export function looseCast(scope: Scope, plan: Plan, type: DataType, at: number, orNull = false): Plan {
  if (isLiteral(plan) || sameType(plan.type, type)) return cast(scope, plan, type, at, orNull)
  return castPlan(plan, type, orNull, at) ?? { kind: 'cast', type, arg: plan, orNull, at, convert: unable }
}

/**
 * As `looseCast`, for a cast in the text. Keeps it even if the type is equal: the reference removes it in a turn of its
 * own.
 */
export function writtenCast(scope: Scope, plan: Plan, type: DataType, at: number, orNull: boolean): Plan {
  return isLiteral(plan) || !sameType(plan.type, type)
    ? looseCast(scope, plan, type, at, orNull)
    : castPlan(plan, type, orNull, at)!
}

function unable(): never {
  throw new TypeError('There is no such cast.')
}

/** The plan without casts that change nothing. Refuses a cast that is not possible. */
export function checkedCasts(scope: Scope, plan: Plan): Plan {
  if (plan.kind !== 'cast') return plan
  if (plan.convert === unable) throw noCast(scope, plan.arg.type, plan.type, plan.at)
  const arg = checkedCasts(scope, plan.arg)
  if (sameType(arg.type, plan.type)) return arg
  return arg === plan.arg ? plan : { ...plan, arg }
}

function shown(value: unknown): string {
  const text = typeof value === 'string' ? JSON.stringify(value) : String(value)
  return text.length > 60 ? `${text.slice(0, 60)}…` : text
}
