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

/** An expression for values of a table's rows, ready to be evaluated any number of times. */
export interface ValueExpression {
  /** The text it was compiled from. */
  readonly text: string
  /** The time it was compiled for, in milliseconds since the epoch; undefined when it does not ask for it. */
  readonly now: number | undefined
  /** The indices of the top-level columns it reads, in order. */
  readonly columns: readonly number[]
  /** The type of its values; with a target, the target's. */
  readonly type: DataType
  /** Whether its values can be null. */
  readonly nullable: boolean
  /** The path of the column, or of the field of a struct, whose values it hands on; undefined for what is computed. */
  readonly path: readonly number[] | undefined
  /**
   * The most bytes of its values in so many rows, as far as that follows from the text; otherwise infinity. `ofColumn`
   * gives the bytes of a column in all rows.
   */
  mostBytes(rows: number, ofColumn: (index: number) => number): number
  /** The work that the functions of one scan may take. */
  budget(): WorkBudget
  /**
   * Its values for the rows from `start` (a multiple of 32) to `end`, in steps of a few milliseconds: the caller rests
   * between them as it likes. Throws `InvalidInput`, with the row, when a row makes it fail.
   */
  steps(rows: Rows, start: number, end: number, options?: ValueOptions): Generator<void, AnyBatch>
  /** The same at once. */
  values(rows: Rows, start: number, end: number, options?: ValueOptions): AnyBatch
}

/**
 * Compiles an expression for values of tables of a schema: columns, literals, arithmetic, functions, conditions, CAST and
 * CASE. What is not in the language, names no column or mixes types is refused as `InvalidInput`, with the place and
 * what to write instead. `now` is the time that its `now()` stands for.
 *
 * With a `target` its values are converted as an assignment to that column does it. A constant that does not fit is
 * refused now, and a value that does not fit, or a null that it does not take, when its row is evaluated.
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

/** The same in steps of a few milliseconds, so that the caller can rest between them. */
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
