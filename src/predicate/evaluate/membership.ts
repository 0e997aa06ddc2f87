import type { DataType } from '@uwdata/flechette'
import { longSet, numberSet } from '../fast/kernels/contained.ts'
import { likeTest } from '../fast/text/like.ts'
import { textSetTest } from '../fast/text/set.ts'
import type { LikePlan, Scalar } from '../plan/plan.ts'
import { textBytes, valueType } from './compare.ts'
import type { TestNode, ValueNode } from './node.ts'
import { isTexts } from './scalar.ts'
import { type ValueTest, valueTestNode } from './value-test.ts'

/** `IN` a list of literals, none of them null. */
export function inNode(
  arg: ValueNode,
  type: DataType,
  values: readonly Scalar[],
  hasNull: boolean,
  negated: boolean,
): TestNode {
  return valueTestNode(arg, setTest(valueType(type), values), { negated, noIsNull: hasNull })
}

function setTest(type: DataType, values: readonly Scalar[]): ValueTest {
  if (isTexts(type)) {
    const set = new Set(values.map((value) => textBytes(value as string | Uint8Array)))
    return { texts: textSetTest([...set]), scalar: never }
  }
  // Sets hold NaN equal to itself, and -0 to 0, as predicates do.
  const set = new Set(values)
  const scalar = (value: Scalar) => set.has(value)
  const first = values[0]
  if (typeof first !== 'number' && typeof first !== 'bigint') return { scalar }
  const numbers = numberSet(values.map(Number))
  const longs = typeof first === 'bigint' ? longSet(values as readonly bigint[]) : undefined
  return {
    scalar,
    numbers: (vector, n, need, out) => numbers.numbers(vector.values, n, need, out),
    ...(longs && { longs: (vector, n, need, out) => longs.longs(vector.values, n, need, out) }),
  }
}

/** `LIKE` or `ILIKE` with a pattern that is not null. */
export function likeNode(arg: ValueNode, plan: LikePlan): TestNode {
  const test: ValueTest = { texts: likeTest(plan.pattern!, plan.insensitive), scalar: never }
  return valueTestNode(arg, test, { negated: plan.negated })
}

/** Texts are always brought to bytes. */
function never(): boolean {
  throw new TypeError('text was asked for value by value')
}
