import type { Bitmap } from '../../../arrow/bitmap.ts'
import type { NumberArray } from '../../evaluate/vector.ts'
import type { CompareOperator } from '../../plan/plan.ts'
import { compile, eachWord } from './compile.ts'

type Longs = BigInt64Array | BigUint64Array

const exact = {
  '=': '+(x===y)',
  '<>': '+(x!==y)',
  '<': '+(x<y)',
  '<=': '+(x<=y)',
  '>': '+(x>y)',
  '>=': '+(x>=y)',
} as const

/** For numbers of which `x` may be NaN, the largest one, and `y` is not. */
const nanLeft = { ...exact, '>': '+!(x<=y)', '>=': '+!(x<y)' } as const

/** For `y` NaN. */
const nanRight = { '=': '+(x!==x)', '<>': '+(x===x)', '<': '+(x===x)', '<=': '1', '>': '0', '>=': '+(x!==x)' }

/** For numbers that may both be NaN. */
const nanBoth = {
  '=': '(+(x===y)|+(x!==x)&+(y!==y))',
  '<>': '1^(+(x===y)|+(x!==x)&+(y!==y))',
  '<': '(+(x<y)|+(x===x)&+(y!==y))',
  '<=': '1^(+(y<x)|+(y===y)&+(x!==x))',
  '>': '(+(y<x)|+(y===y)&+(x!==x))',
  '>=': '1^(+(x<y)|+(x===x)&+(y!==y))',
} as const

/** The text that is 1 where the double `x` is so related to `y`, which `isNumber` says is no NaN. */
export function orderOfDoubles(operator: CompareOperator, isNumber: boolean): string {
  return (isNumber ? nanLeft : nanBoth)[operator]
}

type WithLiteral<A, T> = (values: A, y: T, n: number, need: Bitmap, out: Bitmap) => void
type WithOther<A> = (values: A, other: A, n: number, need: Bitmap, out: Bitmap) => void

/** Writes the rows of `need` whose number is so related to `literal` into `out`. */
export function compareNumbers(
  operator: CompareOperator,
  values: NumberArray,
  literal: number,
  n: number,
  need: Bitmap,
  out: Bitmap,
): void {
  const forNaN = isFloats(values) && Number.isNaN(literal)
  const texts = forNaN ? nanRight : isFloats(values) ? nanLeft : exact
  const loop = compile<WithLiteral<NumberArray, number>>(
    `compare ${values.constructor.name} ${operator} ${forNaN ? 'NaN' : ''}`,
    'v,y,n,need,out',
    () => eachWord(`{const x=v[$i];w|=(${texts[operator]})<<$b}`),
  )
  loop(values, literal, n, need, out)
}

/** The same for the numbers of another array of the same kind, row by row. */
export function compareNumberPairs(
  operator: CompareOperator,
  values: NumberArray,
  others: NumberArray,
  n: number,
  need: Bitmap,
  out: Bitmap,
): void {
  const texts = isFloats(values) ? nanBoth : exact
  const loop = compile<WithOther<NumberArray>>(
    `compare ${values.constructor.name} ${operator} other`,
    'v,u,n,need,out',
    () => eachWord(`{const x=v[$i],y=u[$i];w|=(${texts[operator]})<<$b}`),
  )
  loop(values, others, n, need, out)
}

function isFloats(values: NumberArray): boolean {
  return values instanceof Float32Array || values instanceof Float64Array
}

/**
 * The same for 64-bit integers. V8 compares elements of a BigInt64Array as machine integers, without making
 * BigInts: 1.2 ns a row against 2.0 ns for halves of 32 bits. It does not for a BigUint64Array with elements
 * above 2^63 (5 to 24 ns), so unsigned ones go by halves.
 */
export function compareLongs(
  operator: CompareOperator,
  values: Longs,
  literal: bigint,
  n: number,
  need: Bitmap,
  out: Bitmap,
): void {
  if (values instanceof BigInt64Array) {
    const loop = compile<WithLiteral<BigInt64Array, bigint>>(
      `compare longs ${operator}`,
      'v,y,n,need,out',
      () => eachWord(`{const x=v[$i];w|=(${exact[operator]})<<$b}`),
    )
    loop(values, literal, n, need, out)
    return
  }
  const loop = compile<(v: Uint32Array, y: number, yh: number, n: number, need: Bitmap, out: Bitmap) => void>(
    `compare halves ${operator}`,
    'v,y,yh,n,need,out',
    () => eachWord(`{const x=v[2*($i)],xh=v[2*($i)+1];w|=(${halves[operator]})<<$b}`),
  )
  loop(halvesOf(values), Number(literal & 0xffffffffn), Number(literal >> 32n), n, need, out)
}

export function compareLongPairs(
  operator: CompareOperator,
  values: Longs,
  others: Longs,
  n: number,
  need: Bitmap,
  out: Bitmap,
): void {
  if (values instanceof BigInt64Array) {
    const loop = compile<WithOther<Longs>>(`compare longs ${operator} other`, 'v,u,n,need,out', () =>
      eachWord(`{const x=v[$i],y=u[$i];w|=(${exact[operator]})<<$b}`),
    )
    loop(values, others, n, need, out)
    return
  }
  const loop = compile<WithOther<Uint32Array>>(`compare halves ${operator} other`, 'v,u,n,need,out', () =>
    eachWord(`{const x=v[2*($i)],xh=v[2*($i)+1],y=u[2*($i)],yh=u[2*($i)+1];w|=(${halves[operator]})<<$b}`),
  )
  loop(halvesOf(values), halvesOf(others), n, need, out)
}

const halves = {
  '=': '+(x===y)&+(xh===yh)',
  '<>': '+(x!==y)|+(xh!==yh)',
  '<': '+(xh<yh)|+(xh===yh)&+(x<y)',
  '<=': '+(xh<yh)|+(xh===yh)&+(x<=y)',
  '>': '+(xh>yh)|+(xh===yh)&+(x>y)',
  '>=': '+(xh>yh)|+(xh===yh)&+(x>=y)',
} as const

/** 64-bit integers in halves, the lower one first. */
export function halvesOf(values: Longs): Uint32Array {
  return new Uint32Array(values.buffer as ArrayBuffer, values.byteOffset, values.length * 2)
}

/** Rows whose code's entry is 1 in a table of bytes: what was found for each value of a dictionary. */
export function lookUpCodes(
  codes: NumberArray,
  table: Uint8Array,
  n: number,
  need: Bitmap,
  out: Bitmap,
): void {
  const loop = compile<WithOther<NumberArray | Uint8Array>>(
    `codes ${codes.constructor.name}`,
    'v,t,n,need,out',
    () => eachWord('w|=t[v[$i]]<<$b;'),
  )
  loop(codes, table, n, need, out)
}
