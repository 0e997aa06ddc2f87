import { type DataType, Type } from '@uwdata/flechette'
import type { Bitmap } from '../../arrow/bitmap.ts'
import type { Build, FastPath } from '../evaluate/build.ts'
import { isWidening } from '../evaluate/call.ts'
import type { TestNode } from '../evaluate/node.ts'
import { holdsFor } from '../evaluate/operators.ts'
import { askEach, type Question, questionNode } from '../evaluate/question.ts'
import { isLong } from '../evaluate/scalar.ts'
import type { NumberArray } from '../evaluate/vector.ts'
import type { ArithmeticPlan, CastPlan, CompareOperator, Plan } from '../plan/plan.ts'
import { ofKind } from './compare-numbers.ts'
import { askEntries } from './dictionary.ts'
import { generated, mayGenerate } from './generate.ts'
import { orderWithNumber } from './orders.ts'

/**
 * Quotients and remainders of narrow integers by a literal, such as `key % 2 = 0`. Both sides of an operator have one type,
 * and that of the literal is 64 bits wide, so each row would be a BigInt. The results fit the narrow type. One loop
 * calculates and compares them: to write them into an array first takes about twice as long. For all else they are
 * widened.
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
  /** The cast that widens. */
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
  // The smallest value by -1 does not fit, and nothing may be divided by 0.
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
 * What a row compares, for the value `v`, the divisor `d` and its reciprocal `e`. With half of one more, a quotient lies
 * at least half of `e` above a whole number, which is far more than what multiplying by `e` may be wrong by. That takes
 * less than to divide. The bits below a power of two are its remainder, which is at or below 0 for what is below 0.
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
  const question: Question = {
    args: [narrow.left],
    holds: (value) => holds((isQuotient ? Math.trunc(Number(value) / divisor) : Number(value) % divisor) - y),
    negated: false,
    noIsNull: false,
  }
  const size = Math.abs(divisor)
  const isPower = (size & (size - 1)) === 0
  const x = isQuotient ? quotient : isPower ? remainderOfPower : remainder
  const row = `const v=values[$i],x=${x};w|=(${orderWithNumber[operator]})<<$b`
  const by = isPower && !isQuotient ? size : divisor
  const each = askEach(question)
  const ask = askEntries((frame, vectors, need, out) => {
    const [vector] = vectors
    const values = vector.kind === 'numbers' ? vector.values : undefined
    const loop = values && generated<Loop>('values,y,d,e', ofKind(values, row))
    if (loop === undefined) each(frame, vectors, need, out)
    else loop(frame.length, need, out, values!, y, by, 1 / by)
  })
  const node = questionNode(question, [build.value(narrow.left)], ask)
  return { ...node, cost: node.cost + 1 }
}
