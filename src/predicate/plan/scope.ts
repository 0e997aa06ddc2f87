import type { DataType, Schema } from '@uwdata/flechette'
import type { CatalogError } from '../../errors.ts'
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
  /** The time that `now()` stands for, in milliseconds since the epoch: the same for all rows. */
  readonly now: () => number
  /** Whether the text is a condition for rows, or an expression for values. */
  readonly wanted: 'condition' | 'value'
}

/** The error that something in the text cannot be. */
export function refuse(
  scope: Scope,
  at: number,
  problem: string,
  remedy: string,
  options?: { cause?: unknown },
): CatalogError {
  return predicateError(scope.text, at, problem, remedy, options)
}

/**
 * A plan's value as another type. What is constant is converted now, so that a literal that cannot be
 * converted is an error of the predicate and not of some row.
 */
export function cast(scope: Scope, plan: Plan, type: DataType, at: number, orNull = false): Plan {
  if (sameType(plan.type, type)) return plan
  if (isNull(plan.type)) return literal(type, null)
  const converted = castPlan(plan, type, orNull, at)
  if (!converted) {
    const problem = `a value of type ${typeName(plan.type)} where ${typeName(type)} is needed, to which it cannot be cast,`
    throw refuse(scope, at, problem, 'Compare values of the same type, or CAST through STRING.')
  }
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

function shown(value: unknown): string {
  const text = typeof value === 'string' ? JSON.stringify(value) : String(value)
  return text.length > 60 ? `${text.slice(0, 60)}…` : text
}
