import { type DataType, Type } from '@uwdata/flechette'
import { type Bitmap, intersect } from '../../arrow/bitmap.ts'
import { roundToHalf } from '../../arrow/half.ts'
import { CatalogError } from '../../errors.ts'
import { rowError } from '../errors.ts'
import { compile } from '../fast/kernels/compile.ts'
import type { ArithmeticPlan, Plan, Scalar } from '../plan/plan.ts'
import type { Frame } from './frame.ts'
import type { ValueNode } from './node.ts'
import { readerOf, scalarsFrom } from './read.ts'
import type { NumberArray, Vector } from './vector.ts'

type AnyArray = NumberArray | BigInt64Array | BigUint64Array
type Operator = ArithmeticPlan['operator']
/** The values of one side: an array, or one value for all rows. */
type Side = AnyArray | number | bigint

/**
 * Arithmetic of integers or floats of one type. Integers wrap: the result is stored in their own kind of array,
 * which cuts it to their width.
 */
export function arithmeticNode(plan: ArithmeticPlan, left: ValueNode, right: ValueNode): ValueNode {
  const { operator, type, at } = plan
  const arrayType = arrayTypeOf(type)
  const isInteger = type.typeId === Type.Int
  const mayFail = isInteger && (operator === '/' || operator === '%') && !isHarmless(right.constant)
  return {
    cost: left.cost + right.cost + (operator === '/' || operator === '%' ? 6 : 2),
    raises: left.raises || right.raises || mayFail,
    vector(frame, need) {
      const sides = [left, right].map((node) => {
        const vector = node.constant === undefined ? node.vector(frame, need) : undefined
        return { vector, values: vector === undefined ? node.constant : flat(frame, vector, need, arrayType) }
      })
      const [a, b] = sides as [Operand, Operand]
      const valid = bothValid(frame, a.vector?.valid ?? null, b.vector?.valid ?? null)
      const out = frame.array(arrayType, frame.length)
      if (mayFail) divideNeeded(operator, at, a.values, b.values, out, frame, need, valid)
      else everyRow(operator, type, a.values, b.values, out)
      return numbersOf(type, out, valid)
    },
  }
}

interface Operand {
  readonly vector: Vector | undefined
  readonly values: Side
}

/** `-x`; integers wrap. */
export function negateNode(plan: Extract<Plan, { kind: 'negate' }>, arg: ValueNode): ValueNode {
  const { type } = plan
  if (type.typeId !== Type.Int && type.typeId !== Type.Float) return negateScalars(type, arg)
  const arrayType = arrayTypeOf(type)
  return {
    cost: arg.cost + 1,
    raises: arg.raises,
    vector(frame, need) {
      const vector = arg.vector(frame, need)
      const values = flat(frame, vector, need, arrayType)
      const out = frame.array(arrayType, frame.length)
      const isLong = values instanceof BigInt64Array || values instanceof BigUint64Array
      const loop = compile<(v: AnyArray, n: number, out: AnyArray) => void>(
        `negate ${arrayType.name}`,
        'v,n,out',
        () => `for (let i = 0; i < n; i++) out[i] = ${isLong ? 'BigInt.asIntN(64, -v[i])' : '-v[i]'}`,
      )
      loop(values, frame.length, out)
      return numbersOf(type, out, vector.valid)
    },
  }
}

function negateScalars(type: DataType, arg: ValueNode): ValueNode {
  return {
    cost: arg.cost + 10,
    raises: arg.raises,
    vector(frame, need) {
      const read = readerOf(arg.vector(frame, need))
      return scalarsFrom(frame, type, need, (row) => {
        const value = read(row)
        return value === null ? null : -(value as bigint)
      })
    },
  }
}

export function arrayTypeOf(type: DataType) {
  if (type.typeId === Type.Float) return type.precision === 2 ? Float64Array : Float32Array
  if (type.typeId === Type.Int) return type.values
  throw new CatalogError('Internal', `There is no arithmetic for values of Arrow type ${type.typeId}.`)
}

function numbersOf(type: DataType, values: AnyArray, valid: Bitmap | null): Vector {
  if (values instanceof BigInt64Array || values instanceof BigUint64Array) {
    return { kind: 'longs', type, valid, values }
  }
  return { kind: 'numbers', type, valid, values }
}

/** A vector's values as an array; encoded ones and results of functions are written out. */
export function flat(
  frame: Frame,
  vector: Vector,
  need: Bitmap,
  arrayType: ReturnType<typeof arrayTypeOf>,
): AnyArray {
  if (vector.kind === 'numbers' || vector.kind === 'longs') return vector.values
  const read = readerOf(vector)
  const values = frame.array(arrayType, frame.length) as AnyArray
  for (let row = 0; row < frame.length; row++) {
    if (((need[row >>> 5]! >>> (row & 31)) & 1) === 0) continue
    const value = read(row)
    if (value !== null) values[row] = value as never
  }
  return values
}

export function bothValid(frame: Frame, a: Bitmap | null, b: Bitmap | null): Bitmap | null {
  if (a === null || b === null) return a ?? b
  const both = frame.bitmap()
  intersect(a, b, both, frame.words)
  return both
}

/** What cannot fail runs over all rows, needed or not. */
function everyRow(operator: Operator, type: DataType, a: Side, b: Side, out: AnyArray): void {
  const x = typeof a === 'object' ? 'a[i]' : 'a'
  const y = typeof b === 'object' ? 'b[i]' : 'b'
  const loop = compile<(a: Side, b: Side, n: number, out: AnyArray, half: typeof roundToHalf) => void>(
    `${out.constructor.name} ${type.typeId === Type.Float && type.precision === 0} ${x} ${operator} ${y}`,
    'a,b,n,out,half',
    () => `for (let i = 0; i < n; i++) out[i] = ${expression(operator, type, out, x, y)}`,
  )
  loop(a, b, out.length, out, roundToHalf)
}

function expression(operator: Operator, type: DataType, out: AnyArray, x: string, y: string): string {
  const plain = `${x} ${operator} ${y}`
  // V8 turns BigInt arithmetic that is cut to 64 bits into machine instructions: 2 to 4 ns a row.
  if (out instanceof BigInt64Array) return `BigInt.asIntN(64, ${plain})`
  if (out instanceof BigUint64Array) return `BigInt.asUintN(64, ${plain})`
  if (type.typeId === Type.Float) return type.precision === 0 ? `half(Math.fround(${plain}))` : plain
  // A product of numbers loses its lowest bits when it is above 2^53.
  return operator === '*' ? `Math.imul(${x}, ${y})` : plain
}

/** Whether dividing by this constant cannot fail. */
function isHarmless(constant: Scalar | undefined): boolean {
  return (typeof constant === 'number' || typeof constant === 'bigint') && constant > 0
}

function divideNeeded(
  operator: Operator,
  at: number,
  a: Side,
  b: Side,
  out: AnyArray,
  frame: Frame,
  need: Bitmap,
  valid: Bitmap | null,
): void {
  const lowest = out instanceof BigInt64Array ? -(2n ** 63n) : lowestOf(out)
  for (let q = 0; q < frame.words; q++) {
    for (let rest = valid === null ? need[q]! : need[q]! & valid[q]!; rest !== 0; rest &= rest - 1) {
      const row = (q << 5) + 31 - Math.clz32(rest & -rest)
      const x = typeof a === 'object' ? a[row]! : a
      const y = typeof b === 'object' ? b[row]! : b
      // Loose equality, as they are numbers or BigInts.
      // biome-ignore lint/suspicious/noDoubleEquals: 0 and 0n are the same here
      if (y == 0) throw rowError(at, 'division by zero', remedy)
      // biome-ignore lint/suspicious/noDoubleEquals: -1 and -1n are the same here
      if (operator === '/' && y == -1 && x === lowest) {
        throw rowError(at, `${x} / -1 is beyond what its type can hold`, 'Cast to a wider type first.')
      }
      const result = operator === '/' ? (x as number) / (y as number) : (x as number) % (y as number)
      out[row] = (typeof result === 'number' ? Math.trunc(result) : result) as never
    }
  }
}

const remedy = 'Leave such rows out, for example with b <> 0 AND a / b > 1, or divide by nullif(b, 0).'

function lowestOf(out: AnyArray): number | undefined {
  if (out instanceof Int32Array) return -(2 ** 31)
  if (out instanceof Int16Array) return -(2 ** 15)
  return out instanceof Int8Array ? -128 : undefined
}
