import { type DataType, Type } from '@uwdata/flechette'
import { roundToHalf } from '../../arrow/half.ts'
import { rowError } from '../errors.ts'
import type { ArithmeticPlan, Plan, Scalar } from '../plan/plan.ts'
import type { ValueNode } from './node.ts'
import { readerOf, valuesFrom } from './read.ts'

type Number = number | bigint

/** Arithmetic of integers or floats of one type. */
export function arithmeticNode(plan: ArithmeticPlan, left: ValueNode, right: ValueNode): ValueNode {
  return {
    cost: left.cost + right.cost + 20,
    raises: left.raises || right.raises || mayFail(plan),
    vector(frame, need) {
      const [x, y] = [left, right].map((node) =>
        node.constant === undefined ? readerOf(node.vector(frame, need)) : () => node.constant!,
      )
      return valuesFrom(frame, plan.type, need, (row) => {
        const a = x!(row)
        const b = y!(row)
        return a === null || b === null ? null : calculate(plan, a as Number, b as Number)
      })
    },
  }
}

/** Whether a row can cause an error: integers cannot be divided by zero. */
function mayFail({ operator, type, right }: ArithmeticPlan): boolean {
  if (type.typeId !== Type.Int || (operator !== '/' && operator !== '%')) return false
  return right.kind !== 'literal' || right.value === null || !((right.value as Number) > 0)
}

/** `-x`; integers wrap. */
export function negateNode({ type }: Extract<Plan, { kind: 'negate' }>, arg: ValueNode): ValueNode {
  return {
    cost: arg.cost + 10,
    raises: arg.raises,
    vector(frame, need) {
      const read = readerOf(arg.vector(frame, need))
      return valuesFrom(frame, type, need, (row) => {
        const value = read(row)
        return value === null ? null : inType(type, -(value as bigint))
      })
    },
  }
}

/** The result for two values that are not null. */
export function calculate({ operator, type, at }: ArithmeticPlan, a: Number, b: Number): Scalar {
  if (type.typeId === Type.Int && (operator === '/' || operator === '%'))
    return divide(operator, type, at, a, b)
  const [x, y] = [a, b] as [number, number]
  switch (operator) {
    case '+':
      return inType(type, x + y)
    case '-':
      return inType(type, x - y)
    case '*':
      // A product of numbers loses its lowest bits above 2^53.
      return inType(type, type.typeId === Type.Int && type.bitWidth < 64 ? Math.imul(x, y) : x * y)
    case '/':
      return inType(type, x / y)
    default:
      return inType(type, x % y)
  }
}

function divide(operator: '/' | '%', type: DataType, at: number, a: Number, b: Number): Scalar {
  // Loose equality works for numbers and for BigInts.
  // biome-ignore lint/suspicious/noDoubleEquals: 0 and 0n are the same here
  if (b == 0) throw rowError(at, 'division by zero', remedy)
  // biome-ignore lint/suspicious/noDoubleEquals: -1 and -1n are the same here
  if (operator === '/' && b == -1 && a == lowestOf(type)) {
    throw rowError(at, `${a} / -1 is beyond what its type can hold`, 'Cast to a wider type first.')
  }
  const result = operator === '/' ? (a as number) / (b as number) : (a as number) % (b as number)
  // An integer remainder of -0 is 0.
  return typeof result === 'number' ? Math.trunc(result) + 0 : result
}

const remedy = 'Leave such rows out, for example with b <> 0 AND a / b > 1, or divide by nullif(b, 0).'

function lowestOf(type: DataType): Number | undefined {
  if (type.typeId !== Type.Int || !type.signed) return undefined
  return type.bitWidth === 64 ? -(2n ** 63n) : -(2 ** (type.bitWidth - 1))
}

/** Fits a result into its type: integers wrap, floats are rounded; decimals and durations are unchanged. */
function inType(type: DataType, value: Number): Number {
  if (type.typeId === Type.Float) {
    if (type.precision === 2) return value
    const single = Math.fround(value as number)
    return type.precision === 1 ? single : roundToHalf(single)
  }
  if (type.typeId !== Type.Int) return value
  if (typeof value === 'bigint') return type.signed ? BigInt.asIntN(64, value) : BigInt.asUintN(64, value)
  const unused = 32 - type.bitWidth
  return type.signed ? (value << unused) >> unused : (value << unused) >>> unused
}
