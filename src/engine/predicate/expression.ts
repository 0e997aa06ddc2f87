import type { DataType, Field, Schema } from '@uwdata/flechette'
import { wallClock } from '../../base/time.ts'
import type { AnyBatch } from '../arrow/batch.ts'
import { aboutExpression } from './errors.ts'
import { columnsOf, type Rows } from './evaluate/index.ts'
import { type ValueOptions, valueEvaluator } from './evaluate/values.ts'
import { last } from './evaluate/walk.ts'
import { fastPaths } from './fast/index.ts'
import { planExpression } from './plan/expression.ts'
import { mostBytes } from './plan/most-bytes.ts'
import { planAtOnce, planInSteps, WorkBudget } from './work.ts'

export type { ValueOptions } from './evaluate/values.ts'

/** An expression for values of a table's rows. It can be evaluated any number of times. */
export interface ValueExpression {
  /** The text it was compiled from. */
  readonly text: string
  /** The time that `now()` returns, in milliseconds since the epoch; undefined if it is not used. */
  readonly now: number | undefined
  /** The indices of the top-level columns it reads, in order. */
  readonly columns: readonly number[]
  /** The type of its values; with a target, the target's. */
  readonly type: DataType
  /** Whether its values can be null. */
  readonly nullable: boolean
  /** The path of the column or struct field that it copies; undefined if it computes values. */
  readonly path: readonly number[] | undefined
  /**
   * The most bytes of its values in the given number of rows, if that follows from the text; otherwise infinity.
   * `ofColumn` returns the bytes of a column in all rows.
   */
  mostBytes(rows: number, ofColumn: (index: number) => number): number
  /** The work that the functions of one scan may take. */
  budget(): WorkBudget
  /**
   * Its values for the rows from `start` (a multiple of 32) to `end`, in steps of a few milliseconds, between which the
   * caller can yield. Throws `InvalidInput` with the row if a row makes it fail.
   */
  steps(rows: Rows, start: number, end: number, options?: ValueOptions): Generator<void, AnyBatch>
  /** As `steps`, at once. */
  values(rows: Rows, start: number, end: number, options?: ValueOptions): AnyBatch
}

/**
 * Compiles an expression for values of tables of a schema: columns, literals, arithmetic, functions, conditions, CAST
 * and CASE. Refuses other syntax, unknown columns and mixed types as `InvalidInput`, with the position and what to
 * write instead. `now` is the time that its `now()` returns.
 *
 * With a `target` the values are converted as in an assignment to that column. A constant that does not fit is refused
 * now. A value that does not fit, or a null that the target does not take, is refused when its row is evaluated.
 */
export function compileExpression(
  text: string,
  schema: Schema,
  now: number = wallClock(),
  target?: Field,
): ValueExpression {
  try {
    return planAtOnce(compiler(text, schema, now, target))
  } catch (error) {
    throw aboutExpression(error)
  }
}

/** As `compileExpression`, in steps of a few milliseconds, between which the caller can yield. */
export function* compileExpressionSteps(
  text: string,
  schema: Schema,
  now: number,
  target?: Field,
): Generator<void, ValueExpression> {
  try {
    return yield* planInSteps(compiler(text, schema, now, target))
  } catch (error) {
    throw aboutExpression(error)
  }
}

function compiler(text: string, schema: Schema, now: number, target: Field | undefined) {
  let asksTime = false
  const time = () => {
    asksTime = true
    return now
  }
  return (): ValueExpression => {
    const planned = planExpression(text, schema, time, target)
    const evaluate = valueEvaluator(planned, fastPaths)
    function* steps(rows: Rows, start: number, end: number, options: ValueOptions = {}) {
      try {
        return yield* evaluate(rows, start, end, { ...options, budget: options.budget ?? new WorkBudget() })
      } catch (error) {
        throw aboutExpression(error)
      }
    }
    return {
      text,
      now: asksTime ? now : undefined,
      columns: columnsOf(planned.plan),
      type: planned.field.type,
      nullable: planned.field.nullable,
      path: planned.path,
      mostBytes: (rows, ofColumn) => mostBytes(planned.plan, rows, ofColumn),
      budget: () => new WorkBudget(),
      steps,
      values: (rows, start, end, options) => last(steps(rows, start, end, options)),
    }
  }
}
