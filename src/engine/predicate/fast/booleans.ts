import type { FastPath } from '../evaluate/build.ts'
import { holdsFor } from '../evaluate/operators.ts'
import { compareScalars } from '../evaluate/scalar.ts'

/** Comparisons of booleans with a literal, 32 rows at a time. */
export const booleans: FastPath = {
  name: 'booleans',
  vectorTest(plan, slow) {
    if (plan.kind !== 'compare' || plan.right.kind !== 'literal') return undefined
    const { value } = plan.right
    if (typeof value !== 'boolean') return undefined
    const holds = holdsFor[plan.operator]
    const forTrue = holds(compareScalars(true, value)) ? -1 : 0
    const forFalse = holds(compareScalars(false, value)) ? -1 : 0
    return (frame, vectors, need, out) => {
      const [vector] = vectors
      if (vector.kind !== 'booleans') {
        slow(frame, vectors, need, out)
        return
      }
      const { values } = vector
      for (let q = 0; q < frame.words; q++) {
        out[q] = need[q]! & ((values[q]! & forTrue) | (~values[q]! & forFalse))
      }
    }
  },
}
