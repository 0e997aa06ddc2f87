import { Type } from '@uwdata/flechette'
import { type Bitmap, hasRow } from '../../arrow/bitmap.ts'
import type { VectorTestKernel } from '../evaluate/build.ts'
import { eachNeeded, type Frame } from '../evaluate/frame.ts'
import type { Operands, VectorTest } from '../evaluate/node.ts'
import { compareScalars, holdsFor } from '../evaluate/scalar.ts'
import type { Longs, NumberArray, Vector, Wide } from '../evaluate/vector.ts'
import type { CompareOperator } from '../plan/plan.ts'
import { generated } from './generate.ts'

/** Comparisons with a literal or of two expressions, by layout. */
export const comparison: VectorTestKernel = (plan, slow) => {
  if (plan.kind !== 'compare') return undefined
  const { operator, left, right } = plan
  const literal = right.kind === 'literal' ? right.value : undefined
  if (left.type.typeId === Type.Bool) return compareBooleans(operator, literal as boolean | undefined, slow)
  if (literal === undefined) return comparePairs(operator, compareWide(operator, undefined, slow))
  if (typeof literal === 'bigint')
    return compareWithLiteral(operator, literal, compareWide(operator, literal, slow))
  return typeof literal === 'number' && !Number.isNaN(literal)
    ? compareWithLiteral(operator, literal, slow)
    : undefined
}

type Values = NumberArray | BigInt64Array
type WithLiteral = (n: number, need: Bitmap, out: Bitmap, values: Values, y: number | bigint) => void
type WithOther = (n: number, need: Bitmap, out: Bitmap, values: Values, others: Values) => void

function compareWithLiteral(
  operator: CompareOperator,
  literal: number | bigint,
  slow: VectorTest,
): VectorTest {
  const row = `const x=values[$i];w|=(${orderWithNumber[operator]})<<$b`
  const number = Number(literal)
  return (frame, vectors, need, out) => {
    const [given] = vectors
    const vector = given.kind === 'wide' ? (cutToLongs(frame, given, need) ?? given) : given
    const values = valuesOf(frame, vector)
    const loop = values && generated<WithLiteral>('values,y', ofKind(values, row))
    if (loop === undefined) slow(frame, vectors, need, out)
    else loop(frame.length, need, out, values!, vector.kind === 'longs' ? asLong(literal, vector) : number)
  }
}

function comparePairs(operator: CompareOperator, slow: VectorTest): VectorTest {
  return (frame, vectors, need, out) => {
    const [a, b] = alike(frame, vectors, need)
    const isAlike = 'values' in a && b && 'values' in b && a.values.constructor === b.values.constructor
    const x = isAlike ? valuesOf(frame, a) : undefined
    const y = isAlike ? valuesOf(frame, b) : undefined
    const isFloat = x instanceof Float64Array || x instanceof Float32Array
    const order = (isFloat ? orderOfDoubles : orderWithNumber)[operator]
    const row = `const x=values[$i],y=others[$i];w|=(${order})<<$b`
    const loop = x && y && generated<WithOther>('values,others', ofKind(x, row))
    if (loop === undefined) slow(frame, vectors, need, out)
    else loop(frame.length, need, out, x!, y!)
  }
}

/** The two sides; a decimal of many words beside one of 64 bits is cut to 64, if all its needed values fit. */
function alike(frame: Frame, [a, b]: Operands, need: Bitmap): Operands {
  if (a.kind === 'wide' && b?.kind === 'longs') return [cutToLongs(frame, a, need) ?? a, b]
  return a.kind === 'longs' && b?.kind === 'wide' ? [a, cutToLongs(frame, b, need) ?? b] : [a, b]
}

/** Integers of many words as 64-bit ones, if all needed values fit. */
function cutToLongs(frame: Frame, vector: Wide, need: Bitmap): Longs | undefined {
  const { values, stride } = vector
  const longs = frame.array(BigInt64Array, frame.length)
  const halves = halvesOf(longs)
  for (let row = 0; row < frame.length; row++) {
    const first = row * stride
    const high = values[first + 1]!
    halves[2 * row] = values[first]!
    halves[2 * row + 1] = high
    const rest = (high | 0) >> 31
    for (let i = first + 2; i < first + stride; i++) {
      if ((values[i]! | 0) !== rest && hasRow(need, row)) return undefined
    }
  }
  return { kind: 'longs', type: vector.type, valid: vector.valid, values: longs }
}

/** The name in the generated text gives each array type its own loop: with two types one is 10 to 30 times slower. */
export function ofKind(values: Values, row: string): string {
  return `/*${values.constructor.name}*/{${row}}`
}

function valuesOf(frame: Frame, vector: Vector): Values | undefined {
  if (vector.kind === 'numbers') return vector.values
  return vector.kind === 'longs' ? signed(frame, vector.values) : undefined
}

/**
 * Unsigned integers as signed ones of the same order, with the highest bit inverted. V8 compares elements of a
 * BigInt64Array as machine integers. For a BigUint64Array with elements above 2^63 it creates BigInts (5 to 24 ns).
 */
function signed(frame: Frame, values: BigInt64Array | BigUint64Array): BigInt64Array {
  if (values instanceof BigInt64Array) return values
  const turned = frame.array(BigInt64Array, frame.length)
  const from = halvesOf(values)
  const to = new Uint32Array(turned.buffer, 0, frame.length * 2)
  for (let i = 0; i < to.length; i += 2) {
    to[i] = from[i]!
    to[i + 1] = from[i + 1]! ^ 0x80000000
  }
  return turned
}

function asLong(literal: number | bigint, { values }: Longs): bigint {
  return values instanceof BigInt64Array ? BigInt(literal) : BigInt(literal) - 2n ** 63n
}

/** 64-bit integers as halves, the lower one first. */
export function halvesOf(values: BigInt64Array | BigUint64Array): Uint32Array {
  return new Uint32Array(values.buffer as ArrayBuffer, values.byteOffset, values.length * 2)
}

/** Inverts `out` within the rows of `need`. */
export function negate(n: number, need: Bitmap, out: Bitmap): void {
  for (let q = 0; q << 5 < n; q++) out[q] = need[q]! & ~out[q]!
}

/* Comparisons in the text of generated loops: 1 where `x` is so related to `y`. NaN is equal to itself and above all. */

/** For `y` not NaN. */
export const orderWithNumber: Readonly<Record<CompareOperator, string>> = {
  '=': '+(x===y)',
  '<>': '+(x!==y)',
  '<': '+(x<y)',
  '<=': '+(x<=y)',
  '>': '+!(x<=y)',
  '>=': '+!(x<y)',
}

/** For doubles that may both be NaN. */
export const orderOfDoubles: Readonly<Record<CompareOperator, string>> = {
  '=': '(+(x===y)|+(x!==x)&+(y!==y))',
  '<>': '1^(+(x===y)|+(x!==x)&+(y!==y))',
  '<': '(+(x<y)|+(x===x)&+(y!==y))',
  '<=': '1^(+(y<x)|+(y===y)&+(x!==x))',
  '>': '(+(y<x)|+(y===y)&+(x!==x))',
  '>=': '1^(+(x<y)|+(x===x)&+(y!==y))',
}

/** Comparisons of booleans, 32 rows at a time. */
function compareBooleans(
  operator: CompareOperator,
  literal: boolean | undefined,
  slow: VectorTest,
): VectorTest {
  const holds = (a: boolean, b: boolean) => (holdsFor[operator](compareScalars(a, b)) ? -1 : 0)
  const [bothTrue, onlyLeft] = [holds(true, true), holds(true, false)]
  const [onlyRight, none] = [holds(false, true), holds(false, false)]
  return (frame, vectors, need, out) => {
    const [vector, other] = vectors
    if (vector.kind !== 'booleans' || (literal === undefined && other?.kind !== 'booleans')) {
      slow(frame, vectors, need, out)
      return
    }
    const { values } = vector
    const others = other?.kind === 'booleans' ? other.values : undefined
    for (let q = 0; q < frame.words; q++) {
      const a = values[q]!
      const b = others === undefined ? (literal ? -1 : 0) : others[q]!
      const forTrue = (b & bothTrue) | (~b & onlyLeft)
      const forFalse = (b & onlyRight) | (~b & none)
      out[q] = need[q]! & ((a & forTrue) | (~a & forFalse))
    }
  }
}

/** Comparisons of integers of 128 and 256 bits, such as decimals: word by word, without a BigInt for each. */
function compareWide(operator: CompareOperator, literal: bigint | undefined, slow: VectorTest): VectorTest {
  const words = literal === undefined ? undefined : wordsOf(literal)
  const holds = holdsFor[operator]
  return (frame, vectors, need, out) => {
    const [a, b] = vectors
    const other = words ? { values: words, step: 0 } : undefined
    if (a.kind !== 'wide' || !(other || (b?.kind === 'wide' && b.stride === a.stride))) {
      slow(frame, vectors, need, out)
      return
    }
    const { values, stride } = a
    const { values: others, step } = other ?? { values: (b as typeof a).values, step: stride }
    eachNeeded(frame.length, need, out, (row) =>
      holds(compareWords(values, row * stride, others, row * step, stride)),
    )
  }
}

/** Compares integers of that many words in two's complement. */
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
function wordsOf(literal: bigint): Uint32Array {
  return Uint32Array.from({ length: 8 }, (_, i) => Number(BigInt.asUintN(32, literal >> BigInt(32 * i))))
}
