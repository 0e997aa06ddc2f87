import { Type } from '@uwdata/flechette'
import { isWidening } from '../evaluate/call.ts'
import { operandsOf } from '../evaluate/fold.ts'
import { opposite } from '../evaluate/logic.ts'
import { type WantedOutcomes, wantBoth, wantFalse, wantTrue } from '../evaluate/node.ts'
import { compareScalars, flipped, holdsFor } from '../evaluate/scalar.ts'
import type { ColumnPlan, CompareOperator, InPlan, LikePlan, Plan, Scalar } from '../plan/plan.ts'
import type { ColumnStatistics } from './statistics.ts'

export type StatisticsOf = (path: readonly number[]) => ColumnStatistics | undefined

/** The possible outcomes of a boolean expression over some rows, and whether its evaluation may fail. */
interface Outcomes {
  readonly isTrue: boolean
  readonly isFalse: boolean
  readonly isNull: boolean
  readonly raises: boolean
}

const unknownOutcomes: Outcomes = { isTrue: true, isFalse: true, isNull: true, raises: false }

/**
 * What statistics prove for a predicate without reading rows: it is true for `none` of them, for `all`, or rows must be
 * read (`some`). Bounds may be wider than the values, as after deletions. If evaluation might throw for a row, the
 * result is `some`, so that no error depends on statistics.
 *
 * `statistics` returns those of a column, or of a struct's field, by its path as in `ColumnPlan.path`.
 */
export function prune(plan: Plan, statistics: StatisticsOf, rows: number): 'none' | 'some' | 'all' {
  if (rows === 0) return 'none'
  const { isTrue, isFalse, isNull, raises } = outcomesOf(plan, wantTrue, { statistics, rows })
  if (raises) return 'some'
  return !isTrue ? 'none' : isFalse || isNull ? 'some' : 'all'
}

interface Known {
  readonly statistics: StatisticsOf
  readonly rows: number
}

function outcomesOf(plan: Plan, wanted: WantedOutcomes, known: Known): Outcomes {
  switch (plan.kind) {
    case 'literal':
      return only(plan.value as boolean | null)
    case 'and':
      return junction(plan.args, wanted, known, false)
    case 'or':
      return negated(junction(plan.args, opposite(wanted), known, true))
    case 'not':
      return negated(outcomesOf(plan.arg, opposite(wanted), known))
    case 'isBool': {
      const { isTrue, isFalse, isNull, raises } = outcomesOf(
        plan.arg,
        plan.value ? wantTrue : wantFalse,
        known,
      )
      const same = plan.value ? isTrue : isFalse
      const other = (plan.value ? isFalse : isTrue) || isNull
      const result = { isTrue: same, isFalse: other, isNull: false, raises }
      return plan.negated ? negated(result) : result
    }
    case 'isNull': {
      const result = nullness(plan.arg, known)
      return plan.negated ? negated(result) : result
    }
    case 'compare':
      return compared(plan.operator, plan.left, plan.right, known)
    case 'in':
      return plan.arg.kind === 'column' ? contained(plan, plan.arg, known) : unknown(plan)
    case 'like':
      return plan.arg.kind === 'column' ? liked(plan, plan.arg, known) : unknown(plan)
    case 'column':
      return compared('=', plan, { kind: 'literal', type: plan.type, value: true }, known)
    default:
      return unknown(plan)
  }
}

function unknown(plan: Plan): Outcomes {
  return { ...unknownOutcomes, raises: mayRaise(plan) }
}

/** Whether evaluating a plan may throw for a row. */
export function mayRaise(plan: Plan): boolean {
  if (plan.kind === 'call') return true
  if (plan.kind === 'cast' && !plan.orNull && !isWidening(plan.arg.type, plan.type)) return true
  if (plan.kind === 'arithmetic' && plan.type.typeId === Type.Int && /[/%]/.test(plan.operator)) return true
  return operandsOf(plan).some(mayRaise)
}

function only(value: boolean | null): Outcomes {
  return { isTrue: value === true, isFalse: value === false, isNull: value === null, raises: false }
}

function negated({ isTrue, isFalse, isNull, raises }: Outcomes): Outcomes {
  return { isTrue: isFalse, isFalse: isTrue, isNull, raises }
}

/** `AND` of the operands, or of their negations. */
function junction(args: readonly Plan[], wanted: WantedOutcomes, known: Known, negate: boolean): Outcomes {
  let isTrue = true
  let isFalse = false
  let isNull = false
  let isNeverNull = true
  let raises = false
  for (const arg of args) {
    const outcomes = negate
      ? negated(outcomesOf(arg, opposite(wanted), known))
      : outcomesOf(arg, wanted, known)
    raises ||= outcomes.raises
    isTrue &&= outcomes.isTrue
    isFalse ||= outcomes.isFalse
    isNull ||= outcomes.isNull
    isNeverNull &&= outcomes.isTrue || outcomes.isNull
    // No row is left for the next operands, nor for their errors.
    const isDecided = wanted === wantTrue ? !outcomes.isTrue : !outcomes.isTrue && !outcomes.isNull
    if (isDecided) break
  }
  return { isTrue, isFalse, isNull: isNull && isNeverNull, raises }
}

function nullness(arg: Plan, known: Known): Outcomes {
  if (arg.kind === 'column') {
    const statistics = known.statistics(arg.path)
    if (statistics === undefined) return { ...unknownOutcomes, isNull: false }
    const { nullCount } = statistics
    return { isTrue: nullCount > 0, isFalse: nullCount < known.rows, isNull: false, raises: false }
  }
  if (arg.type.typeId !== Type.Bool) return { ...unknown(arg), isNull: false }
  const { isTrue, isFalse, isNull, raises } = outcomesOf(arg, wantBoth, known)
  return { isTrue: isNull, isFalse: isTrue || isFalse, isNull: false, raises }
}

/** The values a column may have. */
interface Range {
  readonly min: Exclude<Scalar, null>
  readonly max: Exclude<Scalar, null>
  readonly hasNaN: boolean
  readonly hasNull: boolean
}

/** The range of a column's values. Returns outcomes directly if nothing is known, or if all values are null. */
function rangeOf(column: ColumnPlan, { statistics, rows }: Known): Range | Outcomes {
  const found = statistics(column.path)
  if (found === undefined) return unknownOutcomes
  const { nullCount, min, max } = found
  if (nullCount >= rows) return only(null)
  const hasNull = nullCount > 0
  if (min === undefined || max === undefined || min === null || max === null) {
    return { ...unknownOutcomes, isNull: hasNull }
  }
  return { min, max, hasNull, hasNaN: column.type.typeId === Type.Float && found.hasNaN !== false }
}

function compared(operator: CompareOperator, left: Plan, right: Plan, known: Known): Outcomes {
  if (left.kind === 'literal' && right.kind === 'column') {
    return compared(flipped[operator], right, left, known)
  }
  if (
    (left.kind === 'literal' && left.value === null) ||
    (right.kind === 'literal' && right.value === null)
  ) {
    return only(null)
  }
  if (left.kind !== 'column' || right.kind !== 'literal') {
    return { ...unknownOutcomes, raises: mayRaise(left) || mayRaise(right) }
  }
  const range = rangeOf(left, known)
  if (!('min' in range)) return range
  const low = compareScalars(range.min, right.value)
  const high = compareScalars(range.max, right.value)
  // An operator depends only on the orders -1, 0 and 1. Those from `low` to `high` may occur.
  const orders = [-1, 0, 1].filter((order) => order >= Math.sign(low) && order <= Math.sign(high))
  if (range.hasNaN) orders.push(compareScalars(Number.NaN, right.value))
  const holds = holdsFor[operator]
  return {
    isTrue: orders.some(holds),
    isFalse: orders.some((order) => !holds(order)),
    isNull: range.hasNull,
    raises: false,
  }
}

function contained(plan: InPlan, column: ColumnPlan, known: Known): Outcomes {
  const range = rangeOf(column, known)
  if (!('min' in range)) return range
  const { min, max, hasNaN } = range
  const found = plan.values.some(
    (value) =>
      (compareScalars(min, value) <= 0 && compareScalars(value, max) <= 0) ||
      (hasNaN && compareScalars(value, Number.NaN) === 0),
  )
  const isSingle = compareScalars(min, max) === 0 && !hasNaN
  const missed = !(isSingle && found)
  const result: Outcomes = {
    isTrue: found,
    isFalse: missed && !plan.hasNull,
    isNull: range.hasNull || (missed && plan.hasNull),
    raises: false,
  }
  return plan.negated ? negated(result) : result
}

/** A pattern with a literal prefix holds only for values between the prefix and the last text that begins with it. */
function liked(plan: LikePlan, column: ColumnPlan, known: Known): Outcomes {
  if (plan.pattern === null) return only(null)
  const range = rangeOf(column, known)
  if (!('min' in range)) return range
  const [prefix, ...rest] = plan.pattern
  const result = { isTrue: true, isFalse: true, isNull: range.hasNull, raises: false }
  if (typeof prefix === 'string' && !plan.insensitive) {
    const min = range.min as string
    const max = range.max as string
    const isBelow = compareScalars(max, prefix) < 0
    const isAbove = compareScalars(min, prefix) > 0 && !min.startsWith(prefix)
    result.isTrue = !isBelow && !isAbove
    const isOpen = rest.length > 0 && rest.every((part) => typeof part === 'object' && part.any === 'many')
    result.isFalse = !(isOpen && min.startsWith(prefix) && max.startsWith(prefix))
  }
  return plan.negated ? negated(result) : result
}
