import type { DataType } from '@uwdata/flechette'
import fc from 'fast-check'
import { CatalogError } from '../../../../src/base/errors.ts'
import { noRows, rowsIn } from '../../../../src/engine/arrow/bitmap.ts'
import type { Kernel } from '../../../../src/engine/predicate/evaluate/build.ts'
import { fold } from '../../../../src/engine/predicate/evaluate/fold.ts'
import { evaluator, type Rows } from '../../../../src/engine/predicate/evaluate/index.ts'
import type { ColumnPlan, Plan, Scalar } from '../../../../src/engine/predicate/plan/plan.ts'
import { logical, plans, type types } from './arbitrary.ts'
import { batchOf } from './batches.ts'
import type { Cell } from './interpret.ts'

/** A table: batches for the evaluator, values for the interpreter, a plan for both. */
export interface Case {
  /** The columns' values, for a failure's report. */
  readonly values: readonly (readonly Scalar[])[]
  readonly rows: Rows
  readonly cells: readonly Cell[]
  readonly plan: Plan
  readonly start: number
  readonly end: number
  readonly live: readonly boolean[] | undefined
}

export function column(type: DataType, ...path: number[]): ColumnPlan {
  return { kind: 'column', type: logical(type), path }
}

export function caseOf(entries: typeof types): fc.Arbitrary<Case> {
  return fc.integer({ min: 0, max: 100 }).chain((length) => {
    const columns = entries.map(([, , values]) =>
      fc.array(fc.oneof({ arbitrary: values, weight: 4 }, { arbitrary: fc.constant(null), weight: 1 }), {
        minLength: length,
        maxLength: length,
      }),
    )
    const leaves = entries.map(([, type, values], i) => ({ column: column(type, i), values }))
    return fc
      .record({
        columns: fc.tuple(...columns),
        plan: plans(leaves),
        from: fc.integer({ min: 0, max: Math.floor(length / 32) }),
        size: fc.integer({ min: 0, max: length }),
        live: fc.option(fc.array(fc.boolean(), { minLength: 128, maxLength: 128 }), { nil: undefined }),
      })
      .map(({ columns, plan, from, size, live }) => ({
        values: columns,
        rows: { length, columns: columns.map((values, i) => batchOf(entries[i]![1], values)) },
        cells: Array.from(
          { length },
          (_, row): Cell =>
            ([index]) =>
              columns[index!]![row]!,
        ),
        plan,
        start: from * 32,
        end: Math.min(length, from * 32 + size),
        live,
      }))
  })
}

/** The rows the evaluator selects with some kernels, or that it fails. */
export function selected(
  { rows, plan, start, end, live }: Omit<Case, 'values' | 'cells'>,
  kernels: readonly Kernel[],
): readonly number[] | 'error' {
  const mask = live && noRows(Math.max(0, end - start))
  live?.slice(0, Math.max(0, end - start)).forEach((value, i) => {
    if (value) mask![i >>> 5]! |= 1 << (i & 31)
  })
  const { select, count } = evaluator(fold(plan), kernels)
  try {
    const found = [...rowsIn(select(rows, start, end, mask))]
    if (count(rows, start, end, mask) !== found.length) throw new Error('count and select differ')
    return found
  } catch (error) {
    if (!(error instanceof CatalogError) || error.code !== 'InvalidInput') throw error
    return 'error'
  }
}
