import { TimeUnit, Type } from '@uwdata/flechette'
import { fixedOffset } from '../../arrow/time/zone.ts'
import { dayOf } from '../cast/from-time.ts'
import { compareScalars, flipped, isLong } from '../evaluate/scalar.ts'
import { fold } from './fold.ts'
import type { CompareOperator, LiteralPlan, Plan, Scalar } from './plan.ts'
import { boolean } from './types.ts'

/**
 * Converts a comparison of a monotonic function of time, such as `date_trunc('month', t) = TIMESTAMP '2024-03-01'`, to
 * a range of the time itself. A row then takes a comparison, and statistics can exclude fragments. Undefined for other
 * comparisons.
 */
export function timeRange(operator: CompareOperator, left: Plan, right: Plan): Plan | undefined {
  if (left.kind === 'literal') {
    return right.kind === 'literal' ? undefined : timeRange(flipped[operator], right, left)
  }
  if (right.kind !== 'literal' || right.value === null) return undefined
  const rising = risingOf(left)
  if (!rising) return undefined
  const { arg } = rising
  const compared = (part: CompareOperator, bound: LiteralPlan): Plan =>
    timeRange(part, arg, bound) ??
    fold({ kind: 'compare', type: boolean, operator: part, left: arg, right: bound })
  const reached = () => firstOf(rising, (value) => compareScalars(value, right.value) >= 0)
  const passed = () => firstOf(rising, (value) => compareScalars(value, right.value) > 0)
  switch (operator) {
    case '>=':
      return compared('>=', reached())
    case '<':
      return compared('<', reached())
    case '>':
      return compared('>=', passed())
    case '<=':
      return compared('<', passed())
  }
  // Both bounds evaluate the time, which must be cheap.
  if (arg.kind !== 'column') return undefined
  return operator === '='
    ? { kind: 'and', type: boolean, args: [compared('>=', reached()), compared('<', passed())] }
    : { kind: 'or', type: boolean, args: [compared('<', reached()), compared('>=', passed())] }
}

/** A function of a time that never decreases for a later one. */
interface Rising {
  readonly arg: Plan
  readonly evaluate: (time: Scalar) => Scalar
}

function risingOf(plan: Plan): Rising | undefined {
  if (plan.kind === 'call') {
    const { kernel, evaluate } = plan.function
    return kernel?.kind === 'step' && kernel.rises ? { arg: plan.args[0]!, evaluate } : undefined
  }
  if (plan.kind !== 'cast' || plan.type.typeId !== Type.Date || plan.type.unit !== 0) return undefined
  const { arg } = plan
  if (arg.type.typeId !== Type.Timestamp) return undefined
  const { timezone, unit } = arg.type
  // For a day that no date has, TRY_CAST returns NULL.
  if (plan.orNull && unit < TimeUnit.MICROSECOND) return undefined
  // If a clock is set back over midnight, a day repeats.
  if (timezone !== null && fixedOffset(timezone) === undefined) return undefined
  const day = dayOf(arg.type)
  return { arg, evaluate: (time) => Number(day(time as bigint)) }
}

/** The first time for whose result a condition is true; one past the last time if there is none. */
function firstOf({ arg: { type }, evaluate }: Rising, holds: (result: Scalar) => boolean): LiteralPlan {
  const ofType = (time: bigint) => (isLong(type) ? time : Number(time))
  const bits = isLong(type) ? 63n : 31n
  let low = -(2n ** bits)
  let high = 2n ** bits
  while (low < high) {
    const middle = (low + high) >> 1n
    if (holds(evaluate(ofType(middle)))) high = middle
    else low = middle + 1n
  }
  return { kind: 'literal', type, value: ofType(low) }
}
