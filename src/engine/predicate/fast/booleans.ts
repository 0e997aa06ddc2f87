import { Type } from '@uwdata/flechette'
import type { FastPath } from '../evaluate/build.ts'
import { compareScalars, holdsFor } from '../evaluate/scalar.ts'

/** Comparisons of booleans, 32 rows at a time. */
export const booleans: FastPath = {
  name: 'booleans',
  vectorTest(plan, slow) {
    if (plan.kind !== 'compare' || plan.left.type.typeId !== Type.Bool) return undefined
    const { operator, right } = plan
    if (right.kind === 'literal' && typeof right.value !== 'boolean') return undefined
    const holds = (a: boolean, b: boolean) => (holdsFor[operator](compareScalars(a, b)) ? -1 : 0)
    const [bothTrue, onlyLeft] = [holds(true, true), holds(true, false)]
    const [onlyRight, none] = [holds(false, true), holds(false, false)]
    const literal = right.kind === 'literal' ? (right.value === true ? -1 : 0) : undefined
    return (frame, vectors, need, out) => {
      const [vector, other] = vectors
      if (vector.kind !== 'booleans' || (literal === undefined && other?.kind !== 'booleans')) {
        slow(frame, vectors, need, out)
        return
      }
      const { values } = vector
      const others = other?.kind === 'booleans' ? other.values : undefined
      for (let q = 0; q < frame.words; q++) {
        const a = values[q]!
        const b = others === undefined ? literal! : others[q]!
        const forTrue = (b & bothTrue) | (~b & onlyLeft)
        const forFalse = (b & onlyRight) | (~b & none)
        out[q] = need[q]! & ((a & forTrue) | (~a & forFalse))
      }
    }
  },
}
