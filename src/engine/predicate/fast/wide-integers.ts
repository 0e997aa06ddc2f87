import type { FastPath } from '../evaluate/build.ts'
import { eachNeeded } from '../evaluate/each-needed.ts'
import { holdsFor } from '../evaluate/scalar.ts'

/** Comparisons of integers of 128 and 256 bits, such as decimals: word by word, without a BigInt for each. */
export const wideIntegers: FastPath = {
  name: 'wide-integers',
  vectorTest(plan, slow) {
    if (plan.kind !== 'compare') return undefined
    const { operator, right } = plan
    if (right.kind === 'literal' && typeof right.value !== 'bigint') return undefined
    const literal = right.kind === 'literal' ? wordsOf(right.value as bigint) : undefined
    const holds = holdsFor[operator]
    return (frame, vectors, need, out) => {
      const [a, b] = vectors
      const other = literal ? { values: literal, step: 0 } : undefined
      if (a.kind !== 'wide' || !(other || (b?.kind === 'wide' && b.stride === a.stride))) {
        slow(frame, vectors, need, out)
        return
      }
      const { values, stride } = a
      const { values: others, step } = other ?? { values: (b as typeof a).values, step: stride }
      eachNeeded(frame.length, need, out, (row) =>
        holds(compareWords(values, row * stride, others, row * step, stride)),
      )
    }
  },
}

/** Compares integers of that many words in two's complement. */
function compareWords(a: Uint32Array, aFrom: number, b: Uint32Array, bFrom: number, stride: number): number {
  const sign = (a[aFrom + stride - 1]! | 0) - (b[bFrom + stride - 1]! | 0)
  if (sign !== 0) return sign
  for (let i = stride - 2; i >= 0; i--) {
    const order = a[aFrom + i]! - b[bFrom + i]!
    if (order !== 0) return order
  }
  return 0
}

/** A literal in 8 words of two's complement; its lower ones are those of a narrower integer. */
function wordsOf(literal: bigint): Uint32Array {
  return Uint32Array.from({ length: 8 }, (_, i) => Number(BigInt.asUintN(32, literal >> BigInt(32 * i))))
}
