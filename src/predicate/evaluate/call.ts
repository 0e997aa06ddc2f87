import { type DataType, Type } from '@uwdata/flechette'
import { type Bitmap, intersect } from '../../arrow/bitmap.ts'
import { kernelOf, stepFunction, stepsOf } from '../fast/functions/index.ts'
import type { CallPlan, CastPlan, NonNullScalar, Scalar } from '../plan/plan.ts'
import { arrayTypeOf } from './arithmetic.ts'
import type { Frame } from './frame.ts'
import type { ValueNode } from './node.ts'
import { readerOf, scalarsFrom } from './read.ts'
import { isLong } from './scalar.ts'
import type { Codes, Vector } from './vector.ts'

type Read = (row: number) => Scalar

/** A function of the dialect, called for each needed row. */
export function callNode(plan: CallPlan, args: readonly ValueNode[]): ValueNode {
  const { evaluate, strict } = plan.function
  const varying = args.filter((arg) => arg.constant === undefined)
  const only = varying.length === 1 ? args.indexOf(varying[0]!) : -1
  const results = new WeakMap<object, Map<number, Scalar>>()
  const steps = stepsOf(plan, args)
  const fast = steps ? stepFunction(plan.type, steps) : kernelOf(plan, args)
  return {
    ...(steps && { steps }),
    cost: args.reduce((sum, arg) => sum + arg.cost, fast ? 5 : 20),
    raises: true,
    vector(frame, need) {
      const mark = frame.mark()
      const known = fast?.(frame, need)
      if (known) return known
      frame.release(mark)
      const vectors = args.map((arg) => (arg.constant === undefined ? arg.vector(frame, need) : undefined))
      const readers = vectors.map((vector, i): Read => {
        if (vector !== undefined) return readerOf(vector)
        const constant = args[i]!.constant!
        return () => constant
      })
      const call = callerOf(evaluate, strict, readers)
      const encoded = only < 0 ? undefined : vectors[only]
      if (encoded?.kind === 'codes') return oncePerCode(frame, plan.type, need, encoded, results, call)
      return scalarsFrom(frame, plan.type, need, call)
    },
  }
}

function callerOf(evaluate: (...args: Scalar[]) => Scalar, strict: boolean, readers: readonly Read[]): Read {
  const [first, second] = readers
  if (readers.length === 1) {
    return (row) => {
      const value = first!(row)
      return strict && value === null ? null : evaluate(value)
    }
  }
  if (readers.length === 2) {
    return (row) => {
      const a = first!(row)
      const b = second!(row)
      return strict && (a === null || b === null) ? null : evaluate(a, b)
    }
  }
  return (row) => {
    const values = readers.map((read) => read(row))
    return strict && values.includes(null) ? null : evaluate(...values)
  }
}

/** Where the one argument that varies is dictionary-encoded, each of its values is worked on once. */
function oncePerCode(
  frame: Frame,
  type: DataType,
  need: Bitmap,
  { codes, key, valid }: Codes,
  results: WeakMap<object, Map<number, Scalar>>,
  call: Read,
): Vector {
  const known = results.get(key) ?? new Map<number, Scalar>()
  results.set(key, known)
  const isNull = (row: number) => valid !== null && ((valid[row >>> 5]! >>> (row & 31)) & 1) === 0
  return scalarsFrom(frame, type, need, (row) => {
    const code = isNull(row) ? -1 : codes[row]!
    let result = known.get(code)
    if (result === undefined) {
      result = call(row)
      known.set(code, result)
    }
    return result
  })
}

/** A conversion to another type. Those that only widen numbers run over whole arrays. */
export function castNode(plan: CastPlan, arg: ValueNode, from: DataType): ValueNode {
  const { type, convert } = plan
  const widens = isWidening(from, type)
  return {
    cost: arg.cost + (widens ? 1 : 20),
    raises: arg.raises || !(widens || plan.orNull),
    vector(frame, need) {
      const vector = arg.vector(frame, need)
      if (widens && (vector.kind === 'numbers' || vector.kind === 'longs'))
        return widened(frame, vector, type)
      const read = readerOf(vector)
      const asked = frame.copyOf(need)
      if (vector.valid !== null) intersect(asked, vector.valid, asked, frame.words)
      return scalarsFrom(frame, type, asked, (row) => {
        const value = read(row)
        return value === null ? null : convert(value as NonNullScalar)
      })
    },
  }
}

/** Whether every value of a number type has its equal, or for floats its nearest, in another one. */
export function isWidening(from: DataType, to: DataType): boolean {
  if (from.typeId === Type.Int) {
    if (to.typeId === Type.Float) return to.precision > 0
    if (to.typeId !== Type.Int) return false
    if (from.signed === to.signed) return from.bitWidth <= to.bitWidth
    return to.signed && from.bitWidth < to.bitWidth
  }
  return from.typeId === Type.Float && to.typeId === Type.Float && from.precision <= to.precision
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
    for (let i = 0; i < frame.length; i++) {
      const value = values[i]!
      halves[2 * i] = value
      halves[2 * i + 1] = value < 0 ? -1 : 0
    }
    return { kind: 'longs', type, valid, values: out as unknown as BigInt64Array }
  } else {
    ;(out as Float64Array).set(vector.values)
  }
  return { kind: 'numbers', type, valid, values: out as Float64Array }
}
