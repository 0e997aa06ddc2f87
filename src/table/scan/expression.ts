import type { Field, Schema } from '@uwdata/flechette'
import type { AnyBatch } from '../../arrow/batch.ts'
import type { ValueExpression, ValueOptions } from '../../predicate/index.ts'
import type { TimeSlice } from '../../scheduling/time-slice.ts'
import type { FragmentRows } from '../read/fragment-read.ts'
import { walk } from './fragment.ts'
import { bindingSchema } from './row-columns.ts'

/**
 * Compiles an expression for values for the given time, and rests whenever it is time to. With a target its values are
 * those that an assignment to this column gives.
 */
export async function compileValues(
  text: string,
  schema: Schema,
  now: number,
  timeSlice: TimeSlice,
  target?: Field,
): Promise<ValueExpression> {
  const { compileExpressionSteps } = await import('../../predicate/index.ts')
  return walk(compileExpressionSteps(text, bindingSchema(schema, text), now, target), timeSlice)
}

/** The values of an expression for rows of a fragment, from `start`, a multiple of 32, to `end`. */
export function evaluateValues(
  expression: ValueExpression,
  rows: FragmentRows,
  timeSlice: TimeSlice,
  options: ValueOptions = {},
  start = 0,
  end: number = rows.length,
): Promise<AnyBatch> {
  return walk(expression.steps(rows, start, end, options), timeSlice)
}
