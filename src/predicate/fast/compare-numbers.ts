import type { Bitmap } from '../../arrow/bitmap.ts'
import type { FastPath } from '../evaluate/build.ts'
import type { Frame } from '../evaluate/frame.ts'
import type { Ask } from '../evaluate/node.ts'
import type { NumberArray, Vector } from '../evaluate/vector.ts'
import type { CompareOperator } from '../plan/plan.ts'
import * as literals from './literal-loops.ts'
import * as pairs from './pair-loops.ts'

type Loop<V, Y> = (values: V, y: Y, n: number, need: Bitmap, out: Bitmap) => void
type Ints = Int32Array | Float64Array

/** Comparisons of arrays of numbers, with a literal or with each other. */
export const compareNumbers: FastPath = {
  name: 'compare-numbers',
  ask(plan, slow) {
    if (plan.kind !== 'compare') return undefined
    const { operator, right } = plan
    if (right.kind !== 'literal') return askPairs(operator, slow)
    const { value } = right
    if ((typeof value !== 'number' && typeof value !== 'bigint') || Number.isNaN(value)) return undefined
    return askLiteral(operator, value, slow)
  },
}

const below = {
  ints: literals.belowInts,
  singles: literals.belowSingles,
  doubles: literals.belowDoubles,
  longs: literals.belowLongs,
}
const atMost = {
  ints: literals.atMostInts,
  singles: literals.atMostSingles,
  doubles: literals.atMostDoubles,
  longs: literals.atMostLongs,
}
const equal = {
  ints: literals.equalInts,
  singles: literals.equalSingles,
  doubles: literals.equalDoubles,
  longs: literals.equalLongs,
}

/** Which loop answers an operator, and whether its answer is to be negated: NaN, above all others, is then right, too. */
const byLiteral = {
  '<': { loops: below, negates: false },
  '<=': { loops: atMost, negates: false },
  '=': { loops: equal, negates: false },
  '<>': { loops: equal, negates: true },
  '>': { loops: atMost, negates: true },
  '>=': { loops: below, negates: true },
} as const

function askLiteral(operator: CompareOperator, literal: number | bigint, slow: Ask): Ask {
  const { loops, negates } = byLiteral[operator]
  const number = Number(literal)
  return (frame, vectors, need, out) => {
    const [vector] = vectors
    const n = frame.length
    if (vector.kind === 'numbers') {
      const values = vector.values instanceof Float32Array ? vector.values : widened(frame, vector.values)
      if (values instanceof Int32Array) loops.ints(values, number, n, need, out)
      else if (values instanceof Float32Array) loops.singles(values, number, n, need, out)
      else loops.doubles(values, number, n, need, out)
    } else if (vector.kind === 'longs') {
      const isSigned = vector.values instanceof BigInt64Array
      const wanted = isSigned ? BigInt(literal) : BigInt(literal) - 2n ** 63n
      loops.longs(signed(frame, vector.values), wanted, n, need, out)
    } else {
      slow(frame, vectors, need, out)
      return
    }
    if (negates) negate(n, need, out)
  }
}

const byOther = {
  '<': { kind: 'below', turns: false, negates: false },
  '>': { kind: 'below', turns: true, negates: false },
  '<=': { kind: 'below', turns: true, negates: true },
  '>=': { kind: 'below', turns: false, negates: true },
  '=': { kind: 'equal', turns: false, negates: false },
  '<>': { kind: 'equal', turns: false, negates: true },
} as const

const pairLoops = {
  below: { ints: pairs.belowInts, doubles: pairs.belowDoubles, longs: pairs.belowLongs },
  equal: { ints: pairs.equalInts, doubles: pairs.equalDoubles, longs: pairs.equalLongs },
} as const

function askPairs(operator: CompareOperator, slow: Ask): Ask {
  const { kind, turns, negates } = byOther[operator]
  const loops = pairLoops[kind]
  return (frame, vectors, need, out) => {
    const [a, b] = turns ? [vectors[1]!, vectors[0]] : [vectors[0], vectors[1]!]
    if (!areAlike(a, b) || !runPair(loops, frame, a, b, need, out)) slow(frame, vectors, need, out)
    else if (negates) negate(frame.length, need, out)
  }
}

function areAlike(a: Vector, b: Vector): boolean {
  if (a.kind !== 'numbers' && a.kind !== 'longs') return false
  return a.kind === b.kind && a.values.constructor === b.values.constructor
}

function runPair(
  loops: {
    readonly ints: Loop<Int32Array, Int32Array>
    readonly doubles: Loop<Float64Array, Float64Array>
    readonly longs: Loop<BigInt64Array, BigInt64Array>
  },
  frame: Frame,
  a: Vector,
  b: Vector,
  need: Bitmap,
  out: Bitmap,
): boolean {
  const n = frame.length
  if (a.kind === 'longs' && b.kind === 'longs') {
    loops.longs(signed(frame, a.values), signed(frame, b.values), n, need, out)
    return true
  }
  if (a.kind !== 'numbers' || b.kind !== 'numbers') return false
  const x = widened(frame, a.values)
  const y = widened(frame, b.values)
  if (x instanceof Int32Array) loops.ints(x, y as Int32Array, n, need, out)
  else loops.doubles(x, y as Float64Array, n, need, out)
  return true
}

/** Numbers of a rarer kind as one of those that loops are written for: copying an array takes 0.1 to 0.4 ns a row. */
export function widened(frame: Frame, values: NumberArray): Ints {
  if (values instanceof Int32Array || values instanceof Float64Array) return values
  const isLarge = values instanceof Uint32Array || values instanceof Float32Array
  const wide = isLarge ? frame.array(Float64Array, frame.length) : frame.array(Int32Array, frame.length)
  wide.set(values)
  return wide
}

/** Unsigned integers as signed ones of the same order: with the highest bit turned over. */
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

/** 64-bit integers in halves, the lower one first. */
export function halvesOf(values: BigInt64Array | BigUint64Array): Uint32Array {
  return new Uint32Array(values.buffer as ArrayBuffer, values.byteOffset, values.length * 2)
}

/** Makes the rows of `need` that are not in `out` those that are. */
export function negate(n: number, need: Bitmap, out: Bitmap): void {
  for (let q = 0; q << 5 < n; q++) out[q] = need[q]! & ~out[q]!
}
