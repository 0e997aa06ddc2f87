import type { FastPath } from '../evaluate/build.ts'
import { isTexts, valueType } from '../evaluate/scalar.ts'
import type { ValueTestPlan } from '../evaluate/value-test.ts'
import type { Texts } from '../evaluate/vector.ts'
import type { Scalar } from '../plan/plan.ts'
import { expectSteps } from '../work.ts'
import { likeTest } from './text/like.ts'
import { compareTextPairs, compareTextTest } from './text/order.ts'
import { textSetTest } from './text/set.ts'
import type { TextTest } from './text/text-test.ts'

/** Tests of texts and bytes in place: no string is created for a row. */
export const texts: FastPath = {
  name: 'texts',
  vectorTest(plan, slow) {
    const { type } = plan.kind === 'compare' ? plan.left : plan.arg
    if (!isTexts(valueType(type))) return undefined
    if (plan.kind === 'compare' && plan.right.kind !== 'literal') {
      const { operator } = plan
      return (frame, vectors, need, out) => {
        const [a, b] = vectors
        if (a.kind === 'texts' && b?.kind === 'texts') {
          expectSteps(stepsOfBytes(a, frame.length))
          compareTextPairs(operator, a, b, frame.length, need, out)
        } else slow(frame, vectors, need, out)
      }
    }
    const test = testOf(plan)
    return (frame, vectors, need, out) => {
      const [vector] = vectors
      if (vector.kind === 'texts') {
        expectSteps(stepsOfBytes(vector, frame.length))
        test(vector, frame.length, need, out)
      } else slow(frame, vectors, need, out)
    }
  },
}

/** The cost of reading all bytes of the texts. */
function stepsOfBytes({ offsets }: Texts, n: number): number {
  return (offsets[n]! - offsets[0]!) * 4
}

function testOf(plan: ValueTestPlan): TextTest {
  if (plan.kind === 'like') return likeTest(plan)
  if (plan.kind === 'in') return textSetTest(plan.values.map(bytesOf))
  return compareTextTest(plan.operator, bytesOf(plan.right.kind === 'literal' ? plan.right.value : ''))
}

function bytesOf(value: Scalar): Uint8Array {
  return typeof value === 'string' ? Buffer.from(value) : (value as Uint8Array)
}
