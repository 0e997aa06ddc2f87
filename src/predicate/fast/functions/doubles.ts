import { type DataType, Type } from '@uwdata/flechette'
import type { ValueNode } from '../../evaluate/node.ts'
import { compile } from '../kernels/compile.ts'
import type { FastCall } from './index.ts'

type Loop = (values: Float64Array, n: number, out: Float64Array, apply: (value: number) => number) => void

/**
 * A function of a double, by a loop of its own for each function, so that V8 puts the function in the place of
 * its call.
 */
export function doubleFunction(
  name: string,
  apply: (value: number) => number,
  type: DataType,
  arg: ValueNode,
): FastCall | undefined {
  if (type.typeId !== Type.Float || type.precision !== 2) return undefined
  return (frame, need) => {
    const vector = arg.vector(frame, need)
    if (vector.kind !== 'numbers' || !(vector.values instanceof Float64Array)) return undefined
    const values = frame.array(Float64Array, frame.length)
    // The name is one of the language's own functions.
    const loop = compile<Loop>(
      `double ${name}`,
      'v,n,out,f',
      () => 'for (let i = 0; i < n; i++) out[i] = f(v[i])',
    )
    loop(vector.values, frame.length, values, apply)
    return { kind: 'numbers', type, valid: vector.valid, values }
  }
}
