import { type DataType, Type } from '@uwdata/flechette'
import { addRow, type Bitmap, countRows } from '../../arrow/bitmap.ts'
import { calculate } from '../evaluate/arithmetic.ts'
import type { ValueKernel } from '../evaluate/build.ts'
import { stepsOfCall, stepsOfSize } from '../evaluate/call.ts'
import type { Frame } from '../evaluate/frame.ts'
import type { ValueNode } from '../evaluate/node.ts'
import { readerOf, vectorFor, writerOf } from '../evaluate/read.ts'
import { knownRows } from '../evaluate/value-test.ts'
import type { Vector } from '../evaluate/vector.ts'
import type { NonNullScalar, OfBytes, OfNumbers, Plan, Scalar } from '../plan/plan.ts'
import { charge, spend } from '../work.ts'
import { functionOf, keptFunction, mayGenerate } from './generate.ts'

/** Fewer rows do not repay a loop of their own. */
const minRows = 1024
/** Words of rows between two charges: 256 rows. */
const wordsAtOnce = 8

/**
 * Slices for which it is not tried again where it was of no use: `slow` evaluates the arguments once more, and of nested
 * calls each would double the work.
 */
const slicesWithout = 100

/**
 * Functions and casts that are also given for plain numbers (`ofNumbers`), and divisions of integers, on whole arrays:
 * 64-bit integers, times and decimals up to 2^53 become numbers, so no row creates a BigInt. All other values go through
 * `evaluate` or `convert`.
 */
export const numberValues: ValueKernel = (plan, slow, build) => {
  const operation = operationOf(plan)
  if (operation === undefined || !isStored(plan.type) || !mayGenerate()) return undefined
  const args = operation.args.map(build.value)
  if (args.some(({ constant }) => constant !== undefined && !isExact(constant))) return undefined
  let pausedFor = 0
  return {
    ...slow,
    cost: args.reduce((sum, arg) => sum + arg.cost, 5),
    vector(frame, need) {
      if (frame.length < minRows || pausedFor-- > 0) return slow.vector(frame, need)
      const mark = frame.mark()
      const found = compute(operation, args, frame, need)
      if (found !== undefined) return found
      frame.release(mark)
      pausedFor = slicesWithout
      return slow.vector(frame, need)
    },
  }
}

/** A function, a cast or a division. */
interface Operation {
  readonly name: string
  readonly type: DataType
  readonly args: readonly Plan[]
  /** Whether the result is null if an argument is. */
  readonly strict: boolean
  readonly ofNumbers: OfNumbers | OfBytes
  /** The result for any values. */
  readonly evaluate: (...values: Scalar[]) => Scalar
  /** Charges rows, and the bytes of their texts, if any. */
  readonly chargeRows: (rows: number, bytes: number) => void
}

function operationOf(plan: Plan): Operation | undefined {
  const { type } = plan
  switch (plan.kind) {
    case 'call': {
      const {
        args,
        at,
        function: { name, strict, ofNumbers, evaluate },
      } = plan
      if (ofNumbers === undefined) return undefined
      const chargeRows = (rows: number) => charge(rows * stepsOfCall * (args.length + 1), name, at)
      return { name, type, args, strict, ofNumbers, evaluate, chargeRows }
    }
    case 'cast': {
      const { arg, ofNumbers, convert } = plan
      if (ofNumbers === undefined) return undefined
      const chargeRows = (rows: number, bytes: number) => spend(rows * stepsOfCall + bytes * stepsOfSize)
      const evaluate = (value: Scalar = null) => convert(value as NonNullScalar)
      return {
        name: `cast ${arg.type.typeId}`,
        type,
        args: [arg],
        strict: true,
        ofNumbers,
        evaluate,
        chargeRows,
      }
    }
    case 'arithmetic': {
      const { operator, left, right } = plan
      if (type.typeId !== Type.Int || (operator !== '/' && operator !== '%')) return undefined
      const evaluate = (a: Scalar = null, b: Scalar = null) => calculate(plan, a as number, b as number)
      const ofNumbers = (type.signed && type.bitWidth <= 32 ? divisionsOfInts : divisions)[operator]
      return { name: operator, type, args: [left, right], strict: true, ofNumbers, evaluate, chargeRows() {} }
    }
    default:
      return undefined
  }
}

/** Up to here a quotient of doubles, cut to an integer, is that of whole numbers. */
const maxDividend = 2 ** 51

type Division = (a: number, b: number) => number | undefined

/** Divisions by 0 fail, and the quotient of the smallest value and -1 may not fit. */
const divisions: Readonly<Record<'/' | '%', Division>> = {
  '/': (a, b) => (b === 0 || a > maxDividend || a < -maxDividend ? undefined : Math.trunc(a / b)),
  '%': (a, b) => (b === 0 || a > maxDividend || a < -maxDividend ? undefined : a - Math.trunc(a / b) * b),
}

/** As above, for results of 32 bits. */
const divisionsOfInts: Readonly<Record<'/' | '%', Division>> = {
  '/': (a, b) => (b === 0 || b === -1 ? undefined : (a / b) | 0),
  '%': (a, b) => (b === 0 ? undefined : a - Math.imul((a / b) | 0, b)),
}

/** Whether values of a type are numbers, 64-bit integers or booleans in a vector. */
function isStored(type: DataType): boolean {
  switch (type.typeId) {
    case Type.Bool:
    case Type.Int:
    case Type.Float:
    case Type.Decimal:
    case Type.Date:
    case Type.Time:
    case Type.Timestamp:
    case Type.Duration:
      return true
    default:
      return false
  }
}

/** Whether a constant is a number, or an integer that a number holds exactly. */
function isExact(constant: Scalar): boolean {
  return (
    typeof constant === 'number' || (typeof constant === 'bigint' && Number.isSafeInteger(Number(constant)))
  )
}

type Loop = (
  fromWord: number,
  toWord: number,
  need: Bitmap,
  valid: Bitmap,
  others: Bitmap,
  out: unknown,
  apply: unknown,
  ...parameters: unknown[]
) => void

/**
 * The values of an operation. Undefined if an argument has another layout, most values are not for numbers, or a result
 * is too large.
 */
function compute(
  operation: Operation,
  args: readonly ValueNode[],
  frame: Frame,
  need: Bitmap,
): Vector | undefined {
  const { type, strict, ofNumbers } = operation
  const vectors = args.map((arg) => (arg.constant === undefined ? arg.vector(frame, need) : undefined))
  const inputs: Input[] = []
  let known = need
  for (const [i, vector] of vectors.entries()) {
    const input = vector === undefined ? inputOfConstant(args[i]!.constant!, i) : inputOf(vector, i)
    if (input === undefined) return undefined
    inputs.push(input)
    if (vector !== undefined) known = knownRows(frame, vector, known)
  }
  const valid = frame.noRows()
  const others = frame.noRows()
  const out = outputFor(frame, type, valid)
  const loop = loopFor(operation, inputs, out)
  const parameters = inputs.flatMap((input) => Object.values(input.parameters))
  const evaluateOthers = evaluatorOf(operation, args, vectors, out, valid)
  for (let q = 0; q < frame.words; q += wordsAtOnce) {
    const end = Math.min(q + wordsAtOnce, frame.words)
    const rows = strict ? known : need
    operation.chargeRows(countRows(rows.subarray(q, end)), bytesOf(vectors[0], rows, q, end))
    loop(q, end, known, valid, others, arrayOf(out), ofNumbers, ...parameters)
    // If the first rows are for the function itself, so are the others.
    if (q === 0 && countRows(others, end) * 2 > countRows(known, end)) return undefined
    for (let i = q; i < end; i++) {
      if (!strict) others[i]! |= need[i]! & ~known[i]!
      if (others[i] !== 0 && !evaluateOthers(others, i)) return undefined
    }
  }
  return out
}

/** The bytes of the texts of some words of rows. */
function bytesOf(vector: Vector | undefined, rows: Bitmap, fromWord: number, toWord: number): number {
  if (vector?.kind !== 'texts') return 0
  const { offsets } = vector
  let size = 0
  for (let q = fromWord; q < toWord; q++) {
    for (let rest = rows[q]!; rest !== 0; rest &= rest - 1) {
      const row = (q << 5) + 31 - Math.clz32(rest & -rest)
      size += offsets[row + 1]! - offsets[row]!
    }
  }
  return size
}

/** Evaluates rows of a word one by one; false if a result does not fit the array. */
function evaluatorOf(
  { type, evaluate }: Operation,
  args: readonly ValueNode[],
  vectors: readonly (Vector | undefined)[],
  out: Vector,
  valid: Bitmap,
) {
  const write = writerOf(out)
  const isDecimal = type.typeId === Type.Decimal
  let readers: ((row: number) => Scalar)[] | undefined
  return (rows: Bitmap, word: number): boolean => {
    readers ??= vectors.map((vector, i) =>
      vector === undefined ? () => args[i]!.constant! : readerOf(vector),
    )
    for (let rest = rows[word]!; rest !== 0; rest &= rest - 1) {
      const row = (word << 5) + 31 - Math.clz32(rest & -rest)
      const value = evaluate(...readers.map((read) => read(row)))
      if (value === null) continue
      if (isDecimal && BigInt.asIntN(64, value as bigint) !== value) return false
      if (!write(row, value)) return false
      addRow(valid, row)
    }
    return true
  }
}

/** How a loop reads an argument. */
interface Input {
  /** The argument as JavaScript, for row `i`, which is bit `b` of word `q`. */
  readonly text: string
  /** Whether the text may be a number that is not exact, or NaN instead of it. */
  readonly mayBeInexact: boolean
  readonly parameters: Readonly<Record<string, unknown>>
}

function inputOfConstant(value: Scalar, index: number): Input {
  return { text: `k${index}`, mayBeInexact: false, parameters: { [`k${index}`]: Number(value) } }
}

function inputOf(vector: Vector, index: number): Input | undefined {
  const v = `v${index}`
  switch (vector.kind) {
    case 'numbers':
      return {
        text: `/*${vector.values.constructor.name}*/${v}[i]`,
        mayBeInexact: false,
        parameters: { [v]: vector.values },
      }
    case 'longs': {
      const high = vector.values instanceof BigInt64Array ? `${v}[2*i+1]` : `(${v}[2*i+1]>>>0)`
      const parameters = { [v]: halves(vector.values) }
      return { text: `${high}*4294967296+(${v}[2*i]>>>0)`, mayBeInexact: true, parameters }
    }
    case 'wide': {
      const at = (word: number) => `${v}[${vector.stride}*i+${word}]`
      const rest = Array.from({ length: vector.stride - 2 }, (_, word) => `${at(word + 2)}===${at(1)}>>31`)
      const values = new Int32Array(vector.values.buffer, vector.values.byteOffset, vector.values.length)
      const text = `(${rest.join('&&')}?${at(1)}*4294967296+(${at(0)}>>>0):NaN)`
      return { text, mayBeInexact: true, parameters: { [v]: values } }
    }
    case 'booleans':
      return { text: `${v}[q]>>>b&1`, mayBeInexact: false, parameters: { [v]: vector.values } }
    case 'texts': {
      const o = `o${index}`
      const parameters = { [v]: vector.bytes, [o]: vector.offsets }
      return { text: `${v},${o}[i],${o}[i+1]`, mayBeInexact: false, parameters }
    }
    default:
      return undefined
  }
}

/** 64-bit integers as halves, the lower one first. */
function halves({ buffer, byteOffset, length }: BigInt64Array | BigUint64Array): Int32Array {
  return new Int32Array(buffer as ArrayBuffer, byteOffset, length * 2)
}

/** Decimals are stored as 64-bit integers. */
function outputFor(frame: Frame, type: DataType, valid: Bitmap): Vector {
  if (type.typeId !== Type.Decimal) return vectorFor(frame, type, valid)
  return { kind: 'longs', type, valid, values: frame.array(BigInt64Array, frame.length) }
}

function arrayOf(out: Vector): unknown {
  return out.kind === 'longs' ? halves(out.values) : (out as { readonly values: unknown }).values
}

/** How a loop writes the result `r`. */
const writes: Readonly<Partial<Record<Vector['kind'], string>>> = {
  numbers: 'out[i]=r',
  longs: 'out[2*i]=r;out[2*i+1]=Math.floor(r/4294967296)',
  booleans: 'if(r)out[q]|=1<<b',
}

function loopFor({ name }: Operation, inputs: readonly Input[], out: Vector): Loop {
  const exact = (x: string) => `${x}>=${Number.MIN_SAFE_INTEGER}&&${x}<=${Number.MAX_SAFE_INTEGER}`
  const checks = inputs.flatMap(({ mayBeInexact }, i) => (mayBeInexact ? [exact(`x${i}`)] : []))
  const isInteger = out.kind === 'numbers' && out.type.typeId !== Type.Float
  const isUnfit = out.kind === 'longs' ? `!(${exact('r')})` : isInteger ? '(r|0)!==r' : 'r===undefined'
  const args = inputs.map(({ text, mayBeInexact }, i) => (mayBeInexact ? `x${i}` : text))
  const body = `for(let q=from;q<to;q++){
    let w=0,late=0
    for(let rest=need[q];rest!==0;rest&=rest-1){
      const b=31-Math.clz32(rest&-rest),i=(q<<5)+b
      ${inputs.map(({ text, mayBeInexact }, i) => (mayBeInexact ? `const x${i}=${text};` : '')).join('')}
      ${checks.length > 0 ? `if(!(${checks.join('&&')})){late|=1<<b;continue}` : ''}
      const r=apply(${args.join()})
      if(r===null)continue
      if(${isUnfit}){late|=1<<b;continue}
      ${writes[out.kind]}
      w|=1<<b
    }
    valid[q]=w
    others[q]=late
  }`
  const parameters = ['from', 'to', 'need', 'valid', 'others', 'out', 'apply']
  for (const input of inputs) parameters.push(...Object.keys(input.parameters))
  const key = `${name} ${arrayOf(out)!.constructor.name} ${parameters} ${body}`
  // V8 shares what it learns among functions of one text, and would not inline `apply`.
  return keptFunction(key, () => functionOf<Loop>(parameters, `/*${++loops}*/${body}`))
}

let loops = 0
