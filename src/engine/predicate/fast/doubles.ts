import { Type } from '@uwdata/flechette'
import type { FastPath } from '../evaluate/build.ts'

/** Functions of a double, on whole arrays. */
export const doubles: FastPath = {
  name: 'doubles',
  value(plan, slow, build) {
    const kernel = plan.kind === 'call' ? plan.function.kernel : undefined
    if (plan.kind !== 'call' || kernel?.kind !== 'double') return undefined
    const { type } = plan
    const { apply } = kernel
    if (type.typeId !== Type.Float || type.precision !== 2) return undefined
    const arg = build.value(plan.args[0]!)
    return {
      ...slow,
      cost: arg.cost + 5,
      vector(frame, need) {
        const vector = arg.vector(frame, need)
        if (vector.kind !== 'numbers' || !(vector.values instanceof Float64Array)) {
          return slow.vector(frame, need)
        }
        const values = frame.array(Float64Array, frame.length)
        const n = frame.length
        for (let i = 0; i < n; i++) values[i] = apply(vector.values[i]!)
        return { kind: 'numbers', type, valid: vector.valid, values }
      },
    }
  },
}
