import type { Field, Schema } from '@uwdata/flechette'
import type { TimeSlice } from '../../../base/scheduling/time-slice.ts'
import type { AnyBatch } from '../../arrow/batch.ts'
import { allRows } from '../../arrow/bitmap.ts'
import type { ValueExpression, ValueOptions } from '../../predicate/index.ts'
import type { FragmentRows } from '../read/fragment-read.ts'
import { walk } from './fragment.ts'
import { bindingSchema } from './row-columns.ts'

/** Compiles a value expression for the given time, and yields when it is due. `target`: as for an assignment to it. */
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

/** Bytes of texts and lists that are computed at a time. */
const partBytes = 16 << 20

/** The values of an expression for all rows, some megabytes at a time; at least one batch, which may be empty. */
export async function* valueParts(
  expression: ValueExpression,
  rows: FragmentRows,
  timeSlice: TimeSlice,
  options: ValueOptions,
): AsyncGenerator<AnyBatch> {
  for (let start = 0, isFirst = true; start < rows.length || isFirst; isFirst = false) {
    const bounded = { ...options, mostBytes: partBytes }
    // Evaluation begins at a multiple of 32.
    const first = start & ~31
    const live = start === 0 ? undefined : allRows(rows.length - first)
    if (live) live[0]! &= -1 << (start & 31)
    const steps = expression.steps(rows, first, rows.length, { ...bounded, ...(live && { live }) })
    const part = await walk(steps, timeSlice)
    start += part.length
    yield part
    if (timeSlice.due) await timeSlice.rest()
  }
}
