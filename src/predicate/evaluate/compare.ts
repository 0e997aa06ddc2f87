import { type DataType, Type } from '@uwdata/flechette'
import { type Bitmap, intersect, subtract } from '../../arrow/bitmap.ts'
import {
  compareLongPairs,
  compareLongs,
  compareNumberPairs,
  compareNumbers,
} from '../fast/kernels/compare.ts'
import { compareTextPairs, compareTextTest } from '../fast/text/order.ts'
import type { CompareOperator, Scalar } from '../plan/plan.ts'
import { eachNeeded } from './each-needed.ts'
import type { Frame } from './frame.ts'
import type { TestNode, ValueNode } from './node.ts'
import { holdsFor } from './operators.ts'
import { readerOf } from './read.ts'
import { compareScalars, isTexts } from './scalar.ts'
import { type ValueTest, valueTestNode } from './value-test.ts'
import type { Vector } from './vector.ts'

/** A comparison with a literal that is not null. */
export function compareWithLiteral(
  operator: CompareOperator,
  arg: ValueNode,
  type: DataType,
  literal: Exclude<Scalar, null>,
): TestNode {
  return valueTestNode(arg, literalTest(operator, type, literal), { negated: false })
}

function literalTest(operator: CompareOperator, type: DataType, literal: Exclude<Scalar, null>): ValueTest {
  const holds = holdsFor[operator]
  const scalar = (value: Scalar) => holds(compareScalars(value, literal))
  if (isTexts(valueType(type))) {
    return { texts: compareTextTest(operator, textBytes(literal as string | Uint8Array)), scalar }
  }
  if (typeof literal === 'boolean') {
    const forTrue = holds(compareScalars(true, literal)) ? -1 : 0
    const forFalse = holds(compareScalars(false, literal)) ? -1 : 0
    return {
      scalar,
      booleans({ values }, n, need, out) {
        for (let q = 0; q << 5 < n; q++) {
          out[q] = need[q]! & ((values[q]! & forTrue) | (~values[q]! & forFalse))
        }
      },
    }
  }
  if (typeof literal !== 'number' && typeof literal !== 'bigint') return { scalar }
  const words = wideWords(literal)
  return {
    scalar,
    numbers: ({ values }, n, need, out) => compareNumbers(operator, values, Number(literal), n, need, out),
    longs: ({ values }, n, need, out) => compareLongs(operator, values, BigInt(literal), n, need, out),
    wide: ({ values, stride }, n, need, out) =>
      eachNeeded(n, need, out, (row) => holds(compareWords(values, row * stride, words, 0, stride))),
  }
}

/** A comparison of two expressions of one type. */
export function compareNodes(operator: CompareOperator, left: ValueNode, right: ValueNode): TestNode {
  return {
    cost: left.cost + right.cost + 1,
    raises: left.raises || right.raises,
    test(frame, need, _wanted, yes, no) {
      const mark = frame.mark()
      const a = left.vector(frame, need)
      const b = right.vector(frame, need)
      const asked = frame.copyOf(need)
      if (a.valid !== null) intersect(asked, a.valid, asked, frame.words)
      if (b.valid !== null) intersect(asked, b.valid, asked, frame.words)
      comparePairs(frame, operator, a, b, asked, yes, no)
      frame.release(mark)
    },
  }
}

function comparePairs(
  frame: Frame,
  operator: CompareOperator,
  a: Vector,
  b: Vector,
  asked: Bitmap,
  yes: Bitmap,
  no: Bitmap,
): void {
  const n = frame.length
  const holds = holdsFor[operator]
  if (a.kind === 'numbers' && b.kind === 'numbers' && a.values.constructor === b.values.constructor) {
    compareNumberPairs(operator, a.values, b.values, n, asked, yes)
  } else if (a.kind === 'longs' && b.kind === 'longs' && a.values.constructor === b.values.constructor) {
    compareLongPairs(operator, a.values, b.values, n, asked, yes)
  } else if (a.kind === 'texts' && b.kind === 'texts') {
    compareTextPairs(operator, a, b, n, asked, yes)
  } else if (a.kind === 'wide' && b.kind === 'wide' && a.stride === b.stride) {
    const { stride } = a
    eachNeeded(n, asked, yes, (row) =>
      holds(compareWords(a.values, row * stride, b.values, row * stride, stride)),
    )
  } else {
    const x = readerOf(a)
    const y = readerOf(b)
    eachNeeded(n, asked, yes, (row) => holds(compareScalars(x(row), y(row))))
  }
  subtract(asked, yes, no, frame.words)
}

/** Orders integers of so many words in two's complement. */
function compareWords(a: Uint32Array, aFrom: number, b: Uint32Array, bFrom: number, stride: number): number {
  const sign = (a[aFrom + stride - 1]! | 0) - (b[bFrom + stride - 1]! | 0)
  if (sign !== 0) return sign
  for (let i = stride - 2; i >= 0; i--) {
    const order = a[aFrom + i]! - b[bFrom + i]!
    if (order !== 0) return order
  }
  return 0
}

/** A literal in 8 words of two's complement; its lower ones are those of a narrower integer. */
function wideWords(literal: number | bigint): Uint32Array {
  const words = new Uint32Array(8)
  if (typeof literal === 'number') return words
  for (let i = 0; i < 8; i++) words[i] = Number(BigInt.asUintN(32, literal >> BigInt(32 * i)))
  return words
}

/** The type of the values that a dictionary or runs encode. */
export function valueType(type: DataType): DataType {
  if (type.typeId === Type.Dictionary) return valueType(type.dictionary)
  return type.typeId === Type.RunEndEncoded ? valueType(type.children[1]!.type) : type
}

export function textBytes(value: string | Uint8Array): Uint8Array {
  return typeof value === 'string' ? Buffer.from(value) : value
}
