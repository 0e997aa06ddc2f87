import type { DataType } from '@uwdata/flechette'
import type { FastPath } from '../evaluate/build.ts'
import { isWidening } from '../evaluate/call.ts'
import type { Frame } from '../evaluate/frame.ts'
import { isLong } from '../evaluate/scalar.ts'
import type { Vector } from '../evaluate/vector.ts'
import { arrayTypeOf } from './arithmetic.ts'

/** Casts that only widen numbers, on whole arrays. */
export const widening: FastPath = {
  name: 'widening',
  value(plan, slow, build) {
    if (plan.kind !== 'cast' || !isWidening(plan.arg.type, plan.type)) return undefined
    const arg = build.value(plan.arg)
    return {
      cost: arg.cost + 1,
      raises: arg.raises,
      vector(frame, need) {
        const vector = arg.vector(frame, need)
        if (vector.kind === 'numbers' || vector.kind === 'longs') return widened(frame, vector, plan.type)
        return slow.vector(frame, need)
      },
    }
  },
}

function widened(
  frame: Frame,
  vector: Extract<Vector, { kind: 'numbers' | 'longs' }>,
  type: DataType,
): Vector {
  const { valid } = vector
  const arrayType = arrayTypeOf(type)
  if (vector.values.constructor === arrayType) return { ...vector, type }
  const out = frame.array(arrayType, frame.length)
  if (vector.kind === 'longs') {
    const { values } = vector
    for (let i = 0; i < frame.length; i++) out[i] = Number(values[i]!) as never
  } else if (isLong(type)) {
    const { values } = vector
    const halves = new Int32Array(out.buffer, 0, frame.length * 2)
    if (values instanceof Int32Array) widenIntegers(values, halves, frame.length)
    else {
      for (let i = 0; i < frame.length; i++) {
        const value = values[i]!
        halves[2 * i] = value
        halves[2 * i + 1] = value < 0 ? -1 : 0
      }
    }
    return { kind: 'longs', type, valid, values: out as unknown as BigInt64Array }
  } else {
    ;(out as Float64Array).set(vector.values)
  }
  return { kind: 'numbers', type, valid, values: out as Float64Array }
}

/** A separate loop for the most common type, which the compiler optimizes better than one for all types. */
function widenIntegers(values: Int32Array, halves: Int32Array, length: number): void {
  for (let i = 0; i < length; i++) {
    const value = values[i]!
    halves[2 * i] = value
    halves[2 * i + 1] = value >> 31
  }
}
