import { type Bitmap, intersect, subtract } from '../../arrow/bitmap.ts'
import { ValueMap } from '../../arrow/value-map.ts'
import type { ComparePlan, InPlan, LikePlan, Plan, Scalar } from '../plan/plan.ts'
import { checkTime, spend } from '../work.ts'
import { eachNeeded, type Frame } from './frame.ts'
import { type TestNode, type ValueNode, type VectorTest, wantTrue } from './node.ts'
import { readerOf } from './read.ts'
import { compareScalars, flipped, holdsFor, isTexts, sizeOf } from './scalar.ts'
import { foldingMatcher, foldPattern } from './text-fold.ts'
import { type Matches, matcherOf, segmentsOf } from './text-pattern.ts'
import type { Vector } from './vector.ts'

/** A plan that tests values: null if one of them is null. */
export type ValueTestPlan = ComparePlan | InPlan | LikePlan

/** The test of a plan. */
interface ValueTest {
  /** The expressions whose values are tested: one, or two that are compared. */
  readonly args: readonly Plan[]
  /** The result for values that are not null. */
  readonly holds: (value: Scalar, other: Scalar) => boolean
  /** Whether to negate the result. */
  readonly negated: boolean
  /** Whether a false result means null, as for a value that is not in a list which holds NULL. */
  readonly falseIsNull: boolean
}

/** A comparison whose literal, if it has one, is on the right. */
export function literalOnRight(plan: ComparePlan): ComparePlan {
  const { operator, left, right } = plan
  if (left.kind !== 'literal' || right.kind === 'literal') return plan
  return { ...plan, operator: flipped[operator], left: right, right: left }
}

export function valueTestOf(plan: ValueTestPlan): ValueTest {
  if (plan.kind === 'compare') {
    const holds = holdsFor[plan.operator]
    const defaults = { negated: false, falseIsNull: false }
    if (plan.right.kind !== 'literal') {
      return { ...defaults, args: [plan.left, plan.right], holds: (a, b) => holds(compareScalars(a, b)) }
    }
    const { value } = plan.right
    return { ...defaults, args: [plan.left], holds: (a) => holds(compareScalars(a, value)) }
  }
  const { arg, negated } = plan
  // Created on first use: if a kernel applies, they are never used, and predicates may be long.
  if (plan.kind === 'in') {
    let isIn: ((value: Scalar) => boolean) | undefined
    const holds = (value: Scalar) => {
      isIn ??= isOneOf(plan.values)
      return isIn(value)
    }
    return { args: [arg], holds, negated, falseIsNull: plan.hasNull }
  }
  let matches: Matches | undefined
  const holds = (value: Scalar) => {
    matches ??= likeMatcher(plan)
    const bytes = Buffer.from(value as string)
    return matches(bytes, 0, bytes.length)
  }
  return { args: [arg], holds, negated, falseIsNull: false }
}

/** In a map, NaN equals itself and -0 equals 0, as in predicates. */
function isOneOf(values: readonly Scalar[]): (value: Scalar) => boolean {
  const map = new ValueMap()
  for (const value of values) map.add(value, 0)
  return (value) => map.get(value) !== undefined
}

/** A matcher for the pattern of `LIKE` or `ILIKE`, which is not null. */
export function likeMatcher({ pattern, insensitive }: LikePlan): Matches {
  return insensitive ? foldingMatcher(segmentsOf(foldPattern(pattern!))) : matcherOf(segmentsOf(pattern!))
}

/** Tests each needed row separately. */
export function testEach({ holds }: ValueTest): VectorTest {
  return (frame, [first, second], need, out) => {
    const read = readerOf(first)
    const other = second === undefined ? () => null : readerOf(second)
    eachNeeded(frame.length, need, out, (row) => {
      const a = read(row)
      const b = other(row)
      spend(20 + sizeOf(a) + sizeOf(b))
      return holds(a, b)
    })
  }
}

/** Tests the values of its arguments; null if one of them is null. */
export function valueTestNode(
  { args: plans, negated, falseIsNull }: ValueTest,
  args: readonly ValueNode[],
  test: VectorTest,
): TestNode {
  const more = args.length - 1 + (isTexts(plans[0]!.type) ? 3 : 0)
  return {
    cost: args.reduce((sum, arg) => sum + arg.cost, more),
    raises: args.some((arg) => arg.raises),
    test(frame, need, wanted, yes, no) {
      checkTime()
      const mark = frame.mark()
      const vectors = args.map((arg) => arg.vector(frame, need))
      let validRows = need
      for (const vector of vectors) validRows = knownRows(frame, vector, validRows)
      const [found, missed] = negated ? [no, yes] : [yes, no]
      test(frame, vectors as [Vector, Vector?], validRows, found)
      if (falseIsNull) missed.fill(0, 0, frame.words)
      else if (negated || wanted !== wantTrue) subtract(validRows, found, missed, frame.words)
      frame.release(mark)
    },
  }
}

/** The rows of `need` that are not null. */
export function knownRows(frame: Frame, { valid }: Pick<Vector, 'valid'>, need: Bitmap): Bitmap {
  if (valid === null) return need
  const known = frame.bitmap()
  intersect(need, valid, known, frame.words)
  return known
}
