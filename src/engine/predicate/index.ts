import type { DataType, Field, Schema } from '@uwdata/flechette'
import { wallClock } from '../../base/time.ts'
import type { AnyBatch } from '../arrow/batch.ts'
import type { Bitmap } from '../arrow/bitmap.ts'
import { aboutExpression } from './errors.ts'
import { columnsOf, evaluator, type Rows } from './evaluate/index.ts'
import { type ValueOptions, valueEvaluator } from './evaluate/values.ts'
import { last } from './evaluate/walk.ts'
import { kernelsInUse } from './kernels/index.ts'
import { mostBytes, planExpression } from './plan/expression.ts'
import { planPredicate } from './plan/filter.ts'
import type { NonNullScalar, Plan, Scalar } from './plan/plan.ts'
import { mayRaise, prune, type StatisticsOf } from './prune/prune.ts'
import { planAtOnce, planInSteps, WorkBudget } from './work.ts'

export type { ValueOptions } from './evaluate/values.ts'
export { WorkBudget } from './work.ts'

/** A field by its path, as in `ColumnPlan.path`, and the values that it may have. */
export interface Equality {
  readonly path: readonly number[]
  readonly values: readonly NonNullScalar[]
}

/** A condition on a table's rows. It can be evaluated any number of times. */
export interface Predicate {
  /** The text it was compiled from. */
  readonly text: string
  /** The time that `now()` returns, in milliseconds since the epoch; undefined if it is not used. */
  readonly now: number | undefined
  /** The indices of the top-level columns it reads, in order. */
  readonly columns: readonly number[]
  /** A column and its values, if the predicate is only true for rows with one of these values, and for all of them. */
  readonly membership: { readonly column: number; readonly values: readonly Scalar[] } | undefined
  /**
   * Fields, each with values of which every row has one that the predicate is true for. No row without one of the values
   * makes the predicate fail, so only rows with them need to be read.
   */
  readonly equalities: readonly Equality[]
  /** Whether evaluating it may throw for a row. If not, no one notices which rows it is evaluated on. */
  readonly mayFail: boolean
  /**
   * The rows from `start` (a multiple of 32) to `end` for which it is true, not false and not null; bit 0 is row
   * `start`. Only rows in `live` count. Throws `InvalidInput` if a row makes it fail, for example by a division by
   * zero.
   */
  select(rows: Rows, start: number, end: number, live?: Bitmap): Bitmap
  /**
   * As `select`, in steps of a few milliseconds, between which the caller can yield. Throws `InvalidInput` if functions
   * take more work than `budget` has left.
   */
  steps(rows: Rows, start: number, end: number, live?: Bitmap, budget?: WorkBudget): Generator<void, Bitmap>
  /** As `steps`, for the number of rows. */
  countSteps(
    rows: Rows,
    start: number,
    end: number,
    live?: Bitmap,
    budget?: WorkBudget,
  ): Generator<void, number>
  /** The work that the functions of one scan may take. */
  budget(): WorkBudget
  /** How many rows `select` would return. */
  count(rows: Rows, start: number, end: number, live?: Bitmap): number
  /** What statistics prove for `rows` rows: that it is true for none of them, perhaps for some, or for all. */
  prune(statistics: StatisticsOf, rows: number): 'none' | 'some' | 'all'
}

/**
 * Compiles a predicate for tables of a schema. Refuses other syntax, unknown columns, mixed types and too large
 * predicates as `InvalidInput`, with the position and what to write instead. `now` is the time that its `now()`
 * returns.
 */
export function compilePredicate(text: string, schema: Schema, now: number = wallClock()): Predicate {
  return planAtOnce(predicateCompiler(text, schema, now))
}

/** As `compilePredicate`, in steps of a few milliseconds, between which the caller can yield. */
export function compileSteps(text: string, schema: Schema, now: number): Generator<void, Predicate> {
  return planInSteps(predicateCompiler(text, schema, now))
}

function membershipOf(plan: Plan): Predicate['membership'] {
  if (plan.kind === 'in' && !plan.negated && plan.arg.kind === 'column' && plan.arg.path.length === 1) {
    return { column: plan.arg.path[0]!, values: plan.values }
  }
  if (plan.kind !== 'compare' || plan.operator !== '=') return undefined
  const { left, right } = plan
  const isPlain = left.kind === 'column' && left.path.length === 1 && right.kind === 'literal'
  return isPlain ? { column: left.path[0]!, values: [right.value] } : undefined
}

/**
 * The fields that must have one of some values. Operands of `AND` are evaluated in order where they may fail, so only
 * those before the first such operand keep it from failing.
 */
function equalitiesOf(plan: Plan): Equality[] {
  const found: Equality[] = []
  for (const operand of plan.kind === 'and' ? plan.args : [plan]) {
    if (operand.kind === 'and') found.push(...equalitiesOf(operand))
    const equality = equalityOf(operand)
    if (equality) found.push(equality)
    if (mayRaise(operand)) break
  }
  return found
}

function equalityOf(plan: Plan): Equality | undefined {
  if (plan.kind === 'or') return equalityOfAny(plan.args)
  if (plan.kind === 'in') {
    if (plan.negated || plan.arg.kind !== 'column') return undefined
    return { path: plan.arg.path, values: plan.values as readonly NonNullScalar[] }
  }
  if (plan.kind !== 'compare' || plan.operator !== '=') return undefined
  const [column, value] = plan.left.kind === 'column' ? [plan.left, plan.right] : [plan.right, plan.left]
  if (column.kind !== 'column' || value.kind !== 'literal' || value.value === null) return undefined
  return { path: column.path, values: [value.value] }
}

/** `OR` of equalities of one field. */
function equalityOfAny(plans: readonly Plan[]): Equality | undefined {
  const found: Equality[] = []
  for (const plan of plans) {
    const equality = equalityOf(plan)
    if (equality === undefined || equality.path.join() !== (found[0] ?? equality).path.join())
      return undefined
    found.push(equality)
  }
  return { path: found[0]!.path, values: found.flatMap(({ values }) => values) }
}

/** Compiles a predicate. If it pauses, it is called again, and reuses its partial results. */
function predicateCompiler(text: string, schema: Schema, now: number): () => Predicate {
  let asksTime = false
  const time = () => {
    asksTime = true
    return now
  }
  return () => {
    const plan = planPredicate(text, schema, time)
    const { columns, select, count, steps, countSteps } = evaluator(plan, kernelsInUse)
    return {
      steps,
      countSteps,
      budget: () => new WorkBudget(),
      text,
      now: asksTime ? now : undefined,
      columns,
      membership: membershipOf(plan),
      equalities: equalitiesOf(plan),
      mayFail: mayRaise(plan),
      select,
      count,
      prune: (statistics, rows) => prune(plan, statistics, rows),
    }
  }
}

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
    return planAtOnce(expressionCompiler(text, schema, now, target))
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
    return yield* planInSteps(expressionCompiler(text, schema, now, target))
  } catch (error) {
    throw aboutExpression(error)
  }
}

function expressionCompiler(text: string, schema: Schema, now: number, target: Field | undefined) {
  let asksTime = false
  const time = () => {
    asksTime = true
    return now
  }
  return (): ValueExpression => {
    const planned = planExpression(text, schema, time, target)
    const evaluate = valueEvaluator(planned, kernelsInUse)
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
