import { type DataType, Type } from '@uwdata/flechette'
import type { Bitmap } from '../../arrow/bitmap.ts'
import { roundToHalf } from '../../arrow/half.ts'
import { calculate, mayFail } from '../evaluate/arithmetic.ts'
import type { FastPath } from '../evaluate/build.ts'
import type { Frame } from '../evaluate/frame.ts'
import type { ValueNode } from '../evaluate/node.ts'
import { readerOf } from '../evaluate/read.ts'
import { knownRows } from '../evaluate/value-test.ts'
import type { NumberArray, Vector } from '../evaluate/vector.ts'
import type { ArithmeticPlan, Plan } from '../plan/plan.ts'
import { checkTime } from '../work.ts'

type AnyArray = NumberArray | BigInt64Array | BigUint64Array
type NegatePlan = Extract<Plan, { kind: 'negate' }>

/** Arithmetic on whole arrays: integers up to 32 bits as int32, 64-bit integers as int64, floats as doubles. */
export const arithmetic: FastPath = {
  name: 'arithmetic',
  value(plan, slow, build) {
    if (plan.type.typeId !== Type.Int && plan.type.typeId !== Type.Float) return undefined
    if (plan.kind === 'arithmetic') return arrays(plan, slow, build.value(plan.left), build.value(plan.right))
    return plan.kind === 'negate' ? negated(plan, slow, build.value(plan.arg)) : undefined
  },
}

function arrays(plan: ArithmeticPlan, slow: ValueNode, left: ValueNode, right: ValueNode): ValueNode {
  const { operator, type } = plan
  return {
    cost: left.cost + right.cost + (operator === '/' || operator === '%' ? 6 : 2),
    raises: slow.raises,
    vector(frame, need) {
      const [a, b] = [left, right].map((node) =>
        node.constant === undefined ? node.vector(frame, need) : undefined,
      )
      const valid = bothValid(frame, a?.valid ?? null, b?.valid ?? null, need)
      const x = a === undefined ? left.constant! : flat(frame, a, need, type)
      const y = b === undefined ? right.constant! : flat(frame, b, need, type)
      return run(plan, frame, need, valid, x as Operand, y as Operand)
    },
  }
}

/** An array, or one value for all rows. */
type Operand = AnyArray | number | bigint

function run(
  plan: ArithmeticPlan,
  frame: Frame,
  need: Bitmap,
  valid: Bitmap | null,
  x: Operand,
  y: Operand,
): Vector {
  checkTime()
  const { operator, type } = plan
  const n = frame.length
  const isDivision = operator === '/' || operator === '%'
  if (isLongs(type)) {
    const out = frame.array(arrayTypeOf(type) as typeof BigInt64Array, n)
    const isHarmless = !isDivision || (!mayFail(plan) && out instanceof BigInt64Array)
    if (!isHarmless) divideEach(plan, frame, need, valid, x, y, out)
    else runLongs(operator, frame, x, y, new BigInt64Array(out.buffer, 0, n))
    return numbersOf(type, out, valid)
  }
  if (type.typeId === Type.Int && !isDivision) {
    const out = frame.array(Int32Array, n)
    runInts(operator, frame, x, y, out)
    return numbersOf(type, cut(frame, type, out), valid)
  }
  if (mayFail(plan)) {
    const out = frame.array(arrayTypeOf(type) as typeof Int32Array, n)
    divideEach(plan, frame, need, valid, x, y, out)
    return numbersOf(type, out, valid)
  }
  if (type.typeId === Type.Int && isDivision && !(x instanceof Uint32Array)) {
    const out = frame.array(Int32Array, n)
    divisions[operator](ints(frame, x), Number(y), out.length, out)
    return numbersOf(type, cut(frame, type, out), valid)
  }
  const out = frame.array(Float64Array, n)
  doubleLoops[operator](doubles(frame, x), doubles(frame, y), out.length, out)
  return numbersOf(type, cut(frame, type, out), valid)
}

function runInts(operator: '+' | '-' | '*', frame: Frame, x: Operand, y: Operand, out: Int32Array): void {
  if (typeof y === 'object' || typeof x !== 'object')
    intLoops[operator](ints(frame, x), ints(frame, y), out.length, out)
  else if (operator === '-') intByNumber['+'](ints(frame, x), -Number(y) | 0, out.length, out)
  else intByNumber[operator](ints(frame, x), Number(y) | 0, out.length, out)
}

function runLongs(operator: Operator, frame: Frame, x: Operand, y: Operand, out: BigInt64Array): void {
  if (typeof y === 'object' || typeof x !== 'object')
    longLoops[operator](longs(frame, x), longs(frame, y), out.length, out)
  else if (operator === '-')
    longByNumber['+'](longs(frame, x), BigInt.asIntN(64, -BigInt(y)), out.length, out)
  else longByNumber[operator](longs(frame, x), BigInt.asIntN(64, BigInt(y)), out.length, out)
}

type Operator = ArithmeticPlan['operator']

/** Divisions that may fail are computed for needed rows only. */
function divideEach(
  plan: ArithmeticPlan,
  frame: Frame,
  need: Bitmap,
  valid: Bitmap | null,
  x: Operand,
  y: Operand,
  out: AnyArray,
): void {
  for (let q = 0; q < frame.words; q++) {
    for (let rest = valid === null ? need[q]! : need[q]! & valid[q]!; rest !== 0; rest &= rest - 1) {
      const row = (q << 5) + 31 - Math.clz32(rest & -rest)
      const a = typeof x === 'object' ? x[row]! : x
      const b = typeof y === 'object' ? y[row]! : y
      out[row] = calculate(plan, a, b) as never
    }
  }
}

/** `-x` as `0 - x`; for floats as `x * -1`, which turns 0 into -0. */
function negated({ type, at }: NegatePlan, slow: ValueNode, arg: ValueNode): ValueNode {
  const isInteger = type.typeId === Type.Int
  const column: Plan = { kind: 'literal', type, value: null }
  const plan: ArithmeticPlan = {
    kind: 'arithmetic',
    type,
    operator: isInteger ? '-' : '*',
    left: column,
    right: column,
    at,
  }
  const zero = isLongs(type) ? 0n : 0
  return {
    cost: arg.cost + 1,
    raises: slow.raises,
    vector(frame, need) {
      const vector = arg.vector(frame, need)
      const values = flat(frame, vector, need, type)
      const [x, y] = isInteger ? [zero, values] : [values, -1]
      return run(plan, frame, need, vector.valid, x, y)
    },
  }
}

function isLongs(type: DataType): boolean {
  return type.typeId === Type.Int && type.bitWidth === 64
}

/** The array type for values of a type. */
export function arrayTypeOf(type: DataType) {
  if (type.typeId === Type.Int) return type.values
  return type.typeId === Type.Float && type.precision === 2 ? Float64Array : Float32Array
}

export function numbersOf(type: DataType, values: AnyArray, valid: Bitmap | null): Vector {
  if (values instanceof BigInt64Array || values instanceof BigUint64Array) {
    return { kind: 'longs', type, valid, values }
  }
  return { kind: 'numbers', type, valid, values }
}

/** A vector's values as an array. Encoded values and function results are copied into one. */
function flat(frame: Frame, vector: Vector, need: Bitmap, type: DataType): AnyArray {
  if (vector.kind === 'numbers' || vector.kind === 'longs') return vector.values
  const read = readerOf(vector)
  const values = frame.array(arrayTypeOf(type), frame.length) as AnyArray
  for (let row = 0; row < frame.length; row++) {
    if (((need[row >>> 5]! >>> (row & 31)) & 1) === 0) continue
    const value = read(row)
    if (value !== null) values[row] = value as never
  }
  return values
}

export function bothValid(frame: Frame, a: Bitmap | null, b: Bitmap | null, need: Bitmap): Bitmap | null {
  if (a === null || b === null) return a ?? b
  return knownRows(frame, { valid: a }, knownRows(frame, { valid: b }, need))
}

/** The operand as an int32 array, cut to 32 bits: sums, differences and products need no more of it. */
function ints(frame: Frame, operand: Operand): Int32Array {
  if (operand instanceof Int32Array) return operand
  const wide = frame.array(Int32Array, frame.length)
  if (typeof operand === 'object') wide.set(operand as NumberArray)
  else wide.fill(Number(operand))
  return wide
}

function doubles(frame: Frame, operand: Operand): Float64Array {
  if (operand instanceof Float64Array) return operand
  const wide = frame.array(Float64Array, frame.length)
  if (typeof operand === 'object') wide.set(operand as NumberArray)
  else wide.fill(Number(operand))
  return wide
}

function longs(frame: Frame, operand: Operand): BigInt64Array {
  if (operand instanceof BigInt64Array) return operand
  if (operand instanceof BigUint64Array) {
    return new BigInt64Array(operand.buffer as ArrayBuffer, operand.byteOffset, operand.length)
  }
  return frame.array(BigInt64Array, frame.length).fill(BigInt.asIntN(64, BigInt(operand as bigint)))
}

/** Copies a result into an array of its own type, which wraps or rounds it to its width. */
function cut(frame: Frame, type: DataType, wide: Int32Array | Float64Array): NumberArray {
  const arrayType = arrayTypeOf(type) as typeof Int32Array
  if (wide instanceof arrayType) return wide
  const values = frame.array(arrayType, frame.length) as NumberArray
  values.set(wide)
  if (type.typeId === Type.Float && type.precision === 0) {
    for (let i = 0; i < values.length; i++) values[i] = roundToHalf(values[i]!)
  }
  return values
}

/*
 * Arithmetic on whole arrays, with one loop for each operation and array type: a loop that gets a second type becomes
 * several times slower. Each loop processes all `n` rows, needed or not, as none can fail. Reading the length of an
 * array for each row would take a tenth more.
 */

type Ints = Int32Array
type Doubles = Float64Array
type Longs = BigInt64Array

const intLoops = {
  '+': (a: Ints, b: Ints, n: number, out: Ints) => {
    for (let i = 0; i < n; i++) out[i] = a[i]! + b[i]!
  },
  '-': (a: Ints, b: Ints, n: number, out: Ints) => {
    for (let i = 0; i < n; i++) out[i] = a[i]! - b[i]!
  },
  // A product of numbers loses its lowest bits above 2^53.
  '*': (a: Ints, b: Ints, n: number, out: Ints) => {
    for (let i = 0; i < n; i++) out[i] = Math.imul(a[i]!, b[i]!)
  },
} as const

/** As above, with one number for all rows. Differences are sums with its negation. */
const intByNumber = {
  '+': (a: Ints, b: number, n: number, out: Ints) => {
    for (let i = 0; i < n; i++) out[i] = a[i]! + b
  },
  '*': (a: Ints, b: number, n: number, out: Ints) => {
    for (let i = 0; i < n; i++) out[i] = Math.imul(a[i]!, b)
  },
} as const

const doubleLoops = {
  '+': (a: Doubles, b: Doubles, n: number, out: Doubles) => {
    for (let i = 0; i < n; i++) out[i] = a[i]! + b[i]!
  },
  '-': (a: Doubles, b: Doubles, n: number, out: Doubles) => {
    for (let i = 0; i < n; i++) out[i] = a[i]! - b[i]!
  },
  '*': (a: Doubles, b: Doubles, n: number, out: Doubles) => {
    for (let i = 0; i < n; i++) out[i] = a[i]! * b[i]!
  },
  '/': (a: Doubles, b: Doubles, n: number, out: Doubles) => {
    for (let i = 0; i < n; i++) out[i] = a[i]! / b[i]!
  },
  '%': (a: Doubles, b: Doubles, n: number, out: Doubles) => {
    for (let i = 0; i < n; i++) out[i] = a[i]! % b[i]!
  },
} as const

// V8 compiles BigInt arithmetic that is cut to 64 bits into machine instructions: 2 to 4 ns a row.
const longLoops = {
  '+': (a: Longs, b: Longs, n: number, out: Longs) => {
    for (let i = 0; i < n; i++) out[i] = BigInt.asIntN(64, a[i]! + b[i]!)
  },
  '-': (a: Longs, b: Longs, n: number, out: Longs) => {
    for (let i = 0; i < n; i++) out[i] = BigInt.asIntN(64, a[i]! - b[i]!)
  },
  '*': (a: Longs, b: Longs, n: number, out: Longs) => {
    for (let i = 0; i < n; i++) out[i] = BigInt.asIntN(64, a[i]! * b[i]!)
  },
  '/': (a: Longs, b: Longs, n: number, out: Longs) => {
    for (let i = 0; i < n; i++) out[i] = BigInt.asIntN(64, a[i]! / b[i]!)
  },
  '%': (a: Longs, b: Longs, n: number, out: Longs) => {
    for (let i = 0; i < n; i++) out[i] = BigInt.asIntN(64, a[i]! % b[i]!)
  },
} as const

const longByNumber = {
  '+': (a: Longs, b: bigint, n: number, out: Longs) => {
    for (let i = 0; i < n; i++) out[i] = BigInt.asIntN(64, a[i]! + b)
  },
  '*': (a: Longs, b: bigint, n: number, out: Longs) => {
    for (let i = 0; i < n; i++) out[i] = BigInt.asIntN(64, a[i]! * b)
  },
  '/': (a: Longs, b: bigint, n: number, out: Longs) => {
    for (let i = 0; i < n; i++) out[i] = BigInt.asIntN(64, a[i]! / b)
  },
  '%': (a: Longs, b: bigint, n: number, out: Longs) => {
    for (let i = 0; i < n; i++) out[i] = BigInt.asIntN(64, a[i]! % b)
  },
} as const

/**
 * Quotients and remainders by a number that is neither 0 nor -1, which cannot fail. V8's own remainder tests the sign
 * of each value: with mixed signs, that takes seven times as long.
 */
const divisions = {
  '/': (a: Ints, b: number, n: number, out: Ints) => {
    for (let i = 0; i < n; i++) out[i] = (a[i]! / b) | 0
  },
  '%': (a: Ints, b: number, n: number, out: Ints) => {
    for (let i = 0; i < n; i++) out[i] = a[i]! - Math.imul((a[i]! / b) | 0, b)
  },
} as const
