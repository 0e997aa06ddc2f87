import type { Bitmap } from '../../../arrow/bitmap.ts'
import { eachNeeded } from '../../evaluate/each-needed.ts'
import { holdsFor } from '../../evaluate/scalar.ts'
import type { Texts } from '../../evaluate/vector.ts'
import type { CompareOperator } from '../../plan/plan.ts'
import { negate } from '../compare-numbers.ts'
import { equalTest } from './like.ts'
import type { TextTest } from './text-test.ts'

/** Compares texts with bytes, in the order of bytes, which for UTF-8 is that of code points. */
export function compareTextTest(operator: CompareOperator, literal: Uint8Array): TextTest {
  if (operator === '=') return equalTest(literal)
  if (operator === '<>') return negated(equalTest(literal))
  const holds = holdsFor[operator]
  return ({ bytes, offsets }, n, need, out) =>
    eachNeeded(n, need, out, (row) =>
      holds(compareBytes(bytes, offsets[row]!, offsets[row + 1]!, literal, 0, literal.length)),
    )
}

/** Compares texts with others, row by row. */
export function compareTextPairs(
  operator: CompareOperator,
  left: Texts,
  right: Texts,
  n: number,
  need: Bitmap,
  out: Bitmap,
): void {
  const holds = holdsFor[operator]
  const isEquality = operator === '=' || operator === '<>'
  const a = left.offsets
  const b = right.offsets
  eachNeeded(n, need, out, (row) => {
    if (isEquality && a[row + 1]! - a[row]! !== b[row + 1]! - b[row]!) return operator === '<>'
    return holds(compareBytes(left.bytes, a[row]!, a[row + 1]!, right.bytes, b[row]!, b[row + 1]!))
  })
}

function negated(test: TextTest): TextTest {
  return (texts, n, need, out) => {
    test(texts, n, need, out)
    negate(n, need, out)
  }
}

function compareBytes(
  a: Uint8Array,
  aFrom: number,
  aTo: number,
  b: Uint8Array,
  bFrom: number,
  bTo: number,
): number {
  const length = Math.min(aTo - aFrom, bTo - bFrom)
  for (let i = 0; i < length; i++) {
    const order = a[aFrom + i]! - b[bFrom + i]!
    if (order !== 0) return order
  }
  return aTo - aFrom - (bTo - bFrom)
}
