import { type DataType, Type } from '@uwdata/flechette'
import { type Bitmap, intersect, subtract } from '../../arrow/bitmap.ts'
import type { CallPlan, CastPlan, NonNullScalar, Scalar } from '../plan/plan.ts'
import { charge, chargeBytes, checkTime, spend } from '../work.ts'
import type { Frame } from './frame.ts'
import type { ValueNode } from './node.ts'
import { readerOf, scalarsFrom } from './read.ts'
import { sizeOf } from './scalar.ts'
import type { Vector } from './vector.ts'

type Read = (row: number) => Scalar

/** A function of the dialect, called for each needed row. */
export function callNode(plan: CallPlan, args: readonly ValueNode[]): ValueNode {
  const { strict, takesFirst } = plan.function
  const caller = takesFirst ? callerOfFirst : callerOf
  return {
    cost: args.reduce((sum, arg) => sum + arg.cost, 20),
    raises: true,
    vector(frame, need) {
      let rowsToEvaluate: Bitmap = need
      const readers = args.map((arg): Read => {
        checkTime()
        const { constant } = arg
        if (constant === undefined) {
          const vector = arg.vector(frame, rowsToEvaluate)
          if (takesFirst) rowsToEvaluate = withoutValue(frame, rowsToEvaluate, vector)
          return readerOf(vector)
        }
        if (takesFirst && constant !== null) rowsToEvaluate = frame.noRows()
        return () => constant
      })
      return scalarsFrom(frame, plan.type, need, caller(counted(plan), strict, readers))
    },
  }
}

/** The rows that still need a value after an argument supplied the value of others. */
function withoutValue(frame: Frame, rowsToEvaluate: Bitmap, { valid }: Vector): Bitmap {
  const open = frame.noRows()
  if (valid !== null) subtract(rowsToEvaluate, valid, open, frame.words)
  return open
}

/**
 * As `callerOf`, but without the arguments after the first one that is not null: they are not evaluated for the row.
 */
function callerOfFirst(evaluate: (...args: Scalar[]) => Scalar, _: boolean, readers: readonly Read[]): Read {
  return (row) => {
    const values: Scalar[] = []
    for (const read of readers) {
      values.push(read(row))
      if (values.at(-1) !== null) break
    }
    return evaluate(...values)
  }
}

/** Steps for each character, byte or item that a function takes or returns. */
const stepsOfSize = 4
const stepsOfCall = 50

const bytesOfItem = 8

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
    if (made > 0) chargeBytes(typeof result === 'string' ? made + size : made * bytesOfItem)
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
      return scalarsFrom(frame, type, rowsToEvaluate, (row) => {
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
