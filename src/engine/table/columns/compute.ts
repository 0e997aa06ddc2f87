import type { Field } from '@uwdata/flechette'
import { invalid } from '../../../base/errors.ts'
import type { TimeSlice } from '../../../base/scheduling/time-slice.ts'
import { type AnyBatch, byteLength } from '../../arrow/batch.ts'
import { assemble, wholeOf } from '../../arrow/take/take.ts'
import type { ValueExpression, ValueOptions, WorkBudget } from '../../predicate/index.ts'
import type { FragmentRows } from '../read/fragment-read.ts'
import { valueParts } from '../scan/expression.ts'
import { rowNumbers } from '../scan/row-columns.ts'
import { fragmentBytes } from '../write/write-rows.ts'
import type { ColumnSource } from './make-columns.ts'

/** A column whose values come from an expression. */
export interface ComputedColumn {
  readonly field: Field
  readonly expression: ValueExpression
  readonly budget: WorkBudget
}

/** Computes columns from expressions, which all see the columns before the change. `memory` may hold the values. */
export function computing(columns: readonly ComputedColumn[], memory?: ValueOptions['memory']): ColumnSource {
  return {
    reads: [...new Set(columns.flatMap(({ expression }) => expression.columns))],
    compute: async (rows, firstRow, timeSlice) => {
      const batches: AnyBatch[] = []
      // All values are in memory when they are written, and each one when it is read.
      let left = fragmentBytes
      for (const { field, expression, budget } of columns) {
        const options = { numberOf: rowNumbers(firstRow, undefined), budget, ...(memory && { memory }) }
        const batch = await evaluate({ field, expression }, rows, timeSlice, options, left)
        left -= byteLength(batch)
        batches.push(batch)
      }
      return batches
    },
  }
}

/** The values of an expression for all rows of a fragment, computed slice by slice. */
async function evaluate(
  { field, expression }: Pick<ComputedColumn, 'field' | 'expression'>,
  rows: FragmentRows,
  timeSlice: TimeSlice,
  options: ValueOptions,
  mostBytes: number,
): Promise<AnyBatch> {
  const slices: AnyBatch[] = []
  let bytes = 0
  for await (const slice of valueParts(expression, rows, timeSlice, options)) {
    slices.push(slice)
    bytes += byteLength(slice)
    if (bytes > mostBytes) throw tooLong(field)
  }
  try {
    return assemble(field.type, slices.map(wholeOf))
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw tooLong(field, error)
  }
}

/** The bytes of computed columns for all rows of a fragment, in parts. Values are not kept. */
export async function* bytesOfComputed(
  columns: readonly ComputedColumn[],
  rows: FragmentRows,
  firstRow: number,
  timeSlice: TimeSlice,
): AsyncGenerator<number> {
  for (const { expression, budget } of columns) {
    const options = { numberOf: rowNumbers(firstRow, undefined), budget }
    for await (const slice of valueParts(expression, rows, timeSlice, options)) yield byteLength(slice)
  }
}

function tooLong({ name }: Field, cause?: unknown): Error {
  return invalid(
    `The values of column ${JSON.stringify(name)} are too long: in one fragment, which is a file of its own, all new columns together take more than ${fragmentBytes.toLocaleString('en')} bytes. Add fewer columns at a time, compute shorter values, or add the column without values and then update it: updated rows are written in as many fragments as they need.`,
    { cause },
  )
}
