import { Type } from '@uwdata/flechette'
import type { Bitmap } from '../../arrow/bitmap.ts'
import { isAscii } from '../evaluate/ascii.ts'
import type { TestKernel, ValueKernel, VectorTestKernel } from '../evaluate/build.ts'
import { eachNeeded } from '../evaluate/frame.ts'
import { holdsFor, isTexts, valueType } from '../evaluate/scalar.ts'
import type { Matches } from '../evaluate/text-pattern.ts'
import { testEach, type ValueTestPlan, valueTestNode } from '../evaluate/value-test.ts'
import type { NumberArray, Texts, Vector } from '../evaluate/vector.ts'
import type { CompareOperator, Scalar } from '../plan/plan.ts'
import { expectSteps } from '../work.ts'
import { negate } from './compare.ts'
import { testEntries } from './dictionary.ts'
import { equalTest, lettersEqualTest, likeTest } from './text/like.ts'
import { textSetTest } from './text/set.ts'
import type { TextTest } from './text/text-test.ts'

/** Tests of texts and bytes in place: no string is created for a row. */
export const textTest: VectorTestKernel = (plan, slow) => {
  const { type } = plan.kind === 'compare' ? plan.left : plan.arg
  if (!isTexts(valueType(type))) return undefined
  if (plan.kind === 'compare' && plan.right.kind !== 'literal') {
    const { operator } = plan
    return (frame, vectors, need, out) => {
      const [a, b] = vectors.map((vector) => readableOf(vector!))
      if (a === undefined || b === undefined) return slow(frame, vectors, need, out)
      if (vectors[0].kind === 'texts') expectSteps(stepsOfBytes(vectors[0], frame.length))
      compareTextPairs(operator, a, b, frame.length, need, out)
    }
  }
  const test = testOf(plan)
  return (frame, vectors, need, out) => {
    const [vector] = vectors
    if (vector.kind === 'texts') {
      expectSteps(stepsOfBytes(vector, frame.length))
      test(vector, frame.length, need, out)
    } else slow(frame, vectors, need, out)
  }
}

/** The cost of reading all bytes of the texts. */
function stepsOfBytes({ offsets }: Texts, n: number): number {
  return (offsets[n]! - offsets[0]!) * 4
}

function testOf(plan: ValueTestPlan): TextTest {
  if (plan.kind === 'like') return likeTest(plan)
  if (plan.kind === 'in') return textSetTest(plan.values.map(bytesOf))
  return compareTextTest(plan.operator, bytesOf(plan.right.kind === 'literal' ? plan.right.value : ''))
}

function bytesOf(value: Scalar): Uint8Array {
  return typeof value === 'string' ? Buffer.from(value) : (value as Uint8Array)
}

/** Compares texts with bytes, in the order of bytes, which for UTF-8 is that of code points. */
function compareTextTest(operator: CompareOperator, literal: Uint8Array): TextTest {
  if (operator === '=') return equalTest(literal)
  if (operator === '<>') return negated(equalTest(literal))
  const holds = holdsFor[operator]
  return ({ bytes, offsets }, n, need, out) =>
    eachNeeded(n, need, out, (row) =>
      holds(compareBytes(bytes, offsets[row]!, offsets[row + 1]!, literal, 0, literal.length)),
    )
}

/** Texts by row or, with `codes`, the entries of a dictionary. */
interface Readable extends Pick<Texts, 'bytes' | 'offsets'> {
  readonly codes?: NumberArray
}

function readableOf(vector: Vector): Readable | undefined {
  if (vector.kind === 'texts') return vector
  if (vector.kind !== 'codes' || vector.entries.length !== 1) return undefined
  const { type, values, offsets } = vector.entries[0]!
  const isPlain = type.typeId === Type.Utf8 || type.typeId === Type.Binary
  const { codes } = vector
  return isPlain ? { bytes: values as Uint8Array, offsets: offsets as Int32Array, codes } : undefined
}

/** Compares texts with others, row by row. */
function compareTextPairs(
  operator: CompareOperator,
  left: Readable,
  right: Readable,
  n: number,
  need: Bitmap,
  out: Bitmap,
): void {
  const holds = holdsFor[operator]
  const isEquality = operator === '=' || operator === '<>'
  const a = left.offsets
  const b = right.offsets
  eachNeeded(n, need, out, (row) => {
    const i = left.codes ? left.codes[row]! : row
    const j = right.codes ? right.codes[row]! : row
    if (isEquality && a[i + 1]! - a[i]! !== b[j + 1]! - b[j]!) return operator === '<>'
    return holds(compareBytes(left.bytes, a[i]!, a[i + 1]!, right.bytes, b[j]!, b[j + 1]!))
  })
}

function negated(test: TextTest): TextTest {
  return (texts, n, need, out) => {
    test(texts, n, need, out)
    negate(n, need, out)
  }
}

function compareBytes(
  a: Uint8Array,
  aFrom: number,
  aTo: number,
  b: Uint8Array,
  bFrom: number,
  bTo: number,
): number {
  const length = Math.min(aTo - aFrom, bTo - bFrom)
  for (let i = 0; i < length; i++) {
    const order = a[aFrom + i]! - b[bFrom + i]!
    if (order !== 0) return order
  }
  return aTo - aFrom - (bTo - bFrom)
}

/**
 * `lower(x) = 'text'`, `upper(x) <> 'TEXT'` as a test of x: texts in ASCII are compared in place, the others through
 * `lower` and `upper` themselves. A row takes 2.7 times as long as comparing a number.
 */
export const lettersTest: TestKernel = (plan, _slow, build) => {
  if (plan.kind !== 'compare' || (plan.operator !== '=' && plan.operator !== '<>')) return undefined
  const { left, right } = plan
  if (left.kind !== 'call' || right.kind !== 'literal' || typeof right.value !== 'string') return undefined
  const { kernel, evaluate } = left.function
  if (kernel?.kind !== 'letters') return undefined
  const wanted = right.value
  const matches: Matches = (bytes, from, to) =>
    evaluate(Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from).toString()) === wanted
  const test = lettersEqualTest(Buffer.from(wanted), kernel.to, matches)
  const valueTest = {
    args: left.args,
    holds: (value: Parameters<typeof evaluate>[0]) => evaluate(value) === wanted,
    negated: plan.operator === '<>',
    falseIsNull: false,
  }
  const each = testEach(valueTest)
  const entriesTest = testEntries((frame, vectors, need, out) => {
    const [vector] = vectors
    if (vector.kind === 'texts') test(vector, frame.length, need, out)
    else each(frame, vectors, need, out)
  })
  return valueTestNode(valueTest, [build.value(left.args[0]!)], entriesTest)
}

/**
 * `length` and `octet_length`: the difference of two offsets if a slice is ASCII. Otherwise characters are counted by
 * their first bytes. No string is created for a row.
 */
export const textLengths: ValueKernel = (plan, slow, build) => {
  const kernel = plan.kind === 'call' ? plan.function.kernel : undefined
  if (plan.kind !== 'call' || kernel?.kind !== 'textLength') return undefined
  const { type } = plan
  const arg = build.value(plan.args[0]!)
  if (plan.args[0]!.kind !== 'column') return undefined
  return {
    ...slow,
    cost: arg.cost + 5,
    vector(frame, need) {
      const mark = frame.mark()
      const vector = arg.vector(frame, need)
      if (vector.kind !== 'texts') {
        frame.release(mark)
        return slow.vector(frame, need)
      }
      const { offsets, bytes, valid } = vector
      const values = frame.array(Int32Array, frame.length)
      if (kernel.of === 'bytes' || isAscii(vector, frame.length)) countBytes(offsets, values)
      else countCharacters(offsets, bytes, values)
      return { kind: 'numbers', type, valid, values }
    },
  }
}

function countBytes(offsets: Int32Array, out: Int32Array): void {
  const n = out.length
  for (let i = 0; i < n; i++) out[i] = offsets[i + 1]! - offsets[i]!
}

function countCharacters(offsets: Int32Array, bytes: Uint8Array, out: Int32Array): void {
  const n = out.length
  for (let i = 0; i < n; i++) {
    let count = 0
    for (let j = offsets[i]!; j < offsets[i + 1]!; j++) count += +((bytes[j]! & 0xc0) !== 0x80)
    out[i] = count
  }
}
