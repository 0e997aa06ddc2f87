import { type DataType, Type } from '@uwdata/flechette'
import { countRows, intersect, isEmpty, subtract } from '../../arrow/bitmap.ts'
import type { CallPlan, CastPlan, NonNullScalar, Scalar } from '../plan/plan.ts'
import { charge, chargeBytes, checkTime, spend } from '../work.ts'
import { Target } from './case.ts'
import type { ValueNode } from './node.ts'
import { readerOf, valuesFrom } from './read.ts'
import { bytesOf, sizeOf } from './scalar.ts'

type Read = (row: number) => Scalar

/** A function of the dialect, called for each needed row. */
export function callNode(plan: CallPlan, args: readonly ValueNode[]): ValueNode {
  const { strict, takesFirst } = plan.function
  if (takesFirst) return firstNode(plan, args)
  return {
    cost: args.reduce((sum, arg) => sum + arg.cost, 20),
    raises: true,
    vector(frame, need) {
      const readers = args.map((arg): Read => {
        checkTime()
        const { constant } = arg
        return constant === undefined ? readerOf(arg.vector(frame, need)) : () => constant
      })
      return valuesFrom(frame, plan.type, need, callerOf(counted(plan), strict, readers))
    },
  }
}

/** The first argument that is not null. Each is evaluated only for the rows that still have no value. */
function firstNode(plan: CallPlan, args: readonly ValueNode[]): ValueNode {
  const { name } = plan.function
  const chargeValue = (value: Scalar) => {
    const size = sizeOf(value)
    if (size === 0) return
    charge(size * stepsOfSize, name, plan.at)
    spend(size * stepsOfSize)
    chargeBytes(bytesOf(value))
  }
  return {
    cost: args.reduce((sum, arg) => sum + arg.cost, 5),
    raises: true,
    vector(frame, need) {
      const target = new Target(frame, plan.type)
      const mark = frame.mark()
      const open = frame.copyOf(need)
      for (const [i, arg] of args.entries()) {
        checkTime()
        charge(countRows(open, frame.words) * stepsOfCall * (i === 0 ? 2 : 1), name, plan.at)
        const inner = frame.mark()
        target.put(arg, open, chargeValue)
        frame.release(inner)
        subtract(open, target.valid, open, frame.words)
        if (isEmpty(open, frame.words)) break
      }
      frame.release(mark)
      return target.vector
    },
  }
}

/** Steps for each character, byte or item that a function takes or returns. */
export const stepsOfSize = 4
export const stepsOfCall = 50

/**
 * The function of a call, which counts its steps. Functions that take extra steps for their values charge for these.
 */
export function counted({ function: { evaluate, name }, at }: CallPlan): (...args: Scalar[]) => Scalar {
  return (...args) => {
    let size = 0
    for (let i = 0; i < args.length; i++) size += sizeOf(args[i]!)
    charge(stepsOfCall * (args.length + 1) + size * stepsOfSize, name, at)
    const result = evaluate(...args)
    const made = sizeOf(result)
    spend(made * stepsOfSize)
    // A substring may keep the whole text in memory.
    if (made > 0) chargeBytes(typeof result === 'string' ? made + size : bytesOf(result))
    return result
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

/** A conversion to another type. */
export function castNode(plan: CastPlan, arg: ValueNode): ValueNode {
  const { type, convert } = plan
  return {
    cost: arg.cost + 20,
    raises: arg.raises || !(plan.orNull || isWidening(plan.arg.type, type)),
    vector(frame, need) {
      const vector = arg.vector(frame, need)
      const read = readerOf(vector)
      const rowsToEvaluate = frame.copyOf(need)
      if (vector.valid !== null) intersect(rowsToEvaluate, vector.valid, rowsToEvaluate, frame.words)
      return valuesFrom(frame, type, rowsToEvaluate, (row) => {
        const value = read(row)
        spend(stepsOfCall + sizeOf(value) * stepsOfSize)
        const made = value === null ? null : convert(value as NonNullScalar)
        if (typeof made === 'string' || typeof made === 'object') chargeBytes(sizeOf(made))
        return made
      })
    },
  }
}

/** Whether a number type represents every value of another one, or for floats its nearest. */
export function isWidening(from: DataType, to: DataType): boolean {
  if (from.typeId === Type.Int) {
    if (to.typeId === Type.Float) return to.precision > 0
    if (to.typeId !== Type.Int) return false
    if (from.signed === to.signed) return from.bitWidth <= to.bitWidth
    return to.signed && from.bitWidth < to.bitWidth
  }
  return from.typeId === Type.Float && to.typeId === Type.Float && from.precision <= to.precision
}
