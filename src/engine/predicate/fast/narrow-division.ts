import { type DataType, Type } from '@uwdata/flechette'
import type { Bitmap } from '../../arrow/bitmap.ts'
import type { Build, FastPath } from '../evaluate/build.ts'
import { isWidening } from '../evaluate/call.ts'
import type { TestNode } from '../evaluate/node.ts'
import { holdsFor, isLong } from '../evaluate/scalar.ts'
import { testEach, type ValueTest, valueTestNode } from '../evaluate/value-test.ts'
import type { NumberArray } from '../evaluate/vector.ts'
import type { ArithmeticPlan, CastPlan, CompareOperator, Plan } from '../plan/plan.ts'
import { ofKind, orderWithNumber } from './compare.ts'
import { testEntries } from './dictionary.ts'
import { generated, mayGenerate } from './generate.ts'

/**
 * Quotients and remainders of narrow integers by a literal, such as `key % 2 = 0`. Both sides of an operator have one
 * type, and the literal has 64 bits, so each row would be a BigInt. The results fit the narrow type. One loop computes
 * and compares them: writing them into an array first takes about twice as long. All other operands are widened.
 */
export const narrowDivision: FastPath = {
  name: 'narrow-division',
  test(plan, _slow, build) {
    if (plan.kind !== 'compare' || plan.right.kind !== 'literal') return undefined
    const { value } = plan.right
    const found = narrowed(plan.left)
    if (found === undefined || typeof value !== 'bigint') return undefined
    const other = Number(value)
    if (Math.abs(other) > found.most) return undefined
    if (mayGenerate()) return compared(plan.operator, found, other, build)
    const { narrow } = found
    return build.test({ ...plan, left: narrow, right: { ...plan.right, type: narrow.type, value: other } })
  },
  value(plan, _slow, build) {
    const found = narrowed(plan)
    return found && build.value({ ...found.cast, arg: found.narrow })
  },
}

interface Narrowed {
  /** The division before it was widened. */
  readonly narrow: ArithmeticPlan
  readonly divisor: number
  /** The widening cast. */
  readonly cast: CastPlan
  /** The largest value of the narrow type. */
  readonly most: number
}

function narrowed(plan: Plan): Narrowed | undefined {
  if (plan.kind !== 'arithmetic' || (plan.operator !== '%' && plan.operator !== '/')) return undefined
  const { left, right } = plan
  if (!isLong(plan.type) || left.kind !== 'cast' || !isWidening(left.arg.type, left.type)) return undefined
  const { type } = left.arg
  const most = mostOf(type)
  if (most === undefined || right.kind !== 'literal' || typeof right.value !== 'bigint') return undefined
  // The smallest value divided by -1 does not fit, and a division by 0 fails.
  const divisor = Number(right.value)
  if (divisor === 0 || divisor === -1 || Math.abs(divisor) > most) return undefined
  const narrow: ArithmeticPlan = { ...plan, type, left: left.arg, right: { ...right, type, value: divisor } }
  return { narrow, divisor, cast: left, most }
}

/** The largest value of a signed integer whose values are numbers. */
function mostOf(type: DataType): number | undefined {
  if (type.typeId !== Type.Int || !type.signed || type.bitWidth > 32) return undefined
  return 2 ** (type.bitWidth - 1) - 1
}

type Loop = (n: number, need: Bitmap, out: Bitmap, values: NumberArray, ...by: number[]) => void

/*
 * The comparison of a row, for the value `v`, the divisor `d` and its reciprocal `e`. With a half added, a quotient is
 * at least half of `e` above a whole number. That is far more than the error of multiplying by `e`, which is faster
 * than a division. The bits below a power of two are the remainder, which is negated for negative values.
 */
const quotient = '((v+((v>>31)+.5))*e)|0'
const remainder = `v-Math.imul(${quotient},d)`
const remainderOfPower = '((v+((v>>31)&(d-1)))&(d-1))-((v>>31)&(d-1))'

/** Compares quotients or remainders with a number. */
function compared(
  operator: CompareOperator,
  { narrow, divisor }: Narrowed,
  y: number,
  build: Build,
): TestNode {
  const isQuotient = narrow.operator === '/'
  const holds = holdsFor[operator]
  const valueTest: ValueTest = {
    args: [narrow.left],
    holds: (value) => holds((isQuotient ? Math.trunc(Number(value) / divisor) : Number(value) % divisor) - y),
    negated: false,
    falseIsNull: false,
  }
  const size = Math.abs(divisor)
  const isPower = (size & (size - 1)) === 0
  const x = isQuotient ? quotient : isPower ? remainderOfPower : remainder
  const row = `const v=values[$i],x=${x};w|=(${orderWithNumber[operator]})<<$b`
  const by = isPower && !isQuotient ? size : divisor
  const each = testEach(valueTest)
  const test = testEntries((frame, vectors, need, out) => {
    const [vector] = vectors
    const values = vector.kind === 'numbers' ? vector.values : undefined
    const loop = values && generated<Loop>('values,y,d,e', ofKind(values, row))
    if (loop === undefined) each(frame, vectors, need, out)
    else loop(frame.length, need, out, values!, y, by, 1 / by)
  })
  const node = valueTestNode(valueTest, [build.value(narrow.left)], test)
  return { ...node, cost: node.cost + 1 }
}
