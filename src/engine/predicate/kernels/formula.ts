import { type DataType, type IntType, Type } from '@uwdata/flechette'
import { type Bitmap, forEachRow, subtract } from '../../arrow/bitmap.ts'
import { roundToHalf } from '../../arrow/half.ts'
import type { TestKernel, ValueKernel } from '../evaluate/build.ts'
import { operandsOf } from '../evaluate/fold.ts'
import type { Frame } from '../evaluate/frame.ts'
import { type ValueNode, wantTrue } from '../evaluate/node.ts'
import { readerOf } from '../evaluate/read.ts'
import { knownRows } from '../evaluate/value-test.ts'
import type { NumberArray, Vector } from '../evaluate/vector.ts'
import type { Plan } from '../plan/plan.ts'
import { checkTime } from '../work.ts'
import { halvesOf, orderOfDoubles, orderWithNumber } from './compare.ts'
import { isNumber, isShort, isStep, type Range, rangeOf } from './formula-range.ts'
import { functionOf, generate, keptFunction, mayGenerate, numbered } from './generate.ts'

/** Most operations of a loop, which may repeat each of them 32 times. Operands beyond it are arrays. */
const maxOperations = 8

/**
 * Arithmetic of numbers, functions of doubles and widening casts, such as `abs(x - 0.5) * 2 < 0.01` or `a * 2 + id`: one
 * loop for the whole formula and, if there is one, its comparison. An array for each step takes more than four times as
 * long: 14.3 ns a row for the first example, against 3.1.
 *
 * Input of a caller, such as the literals of a predicate, is passed to the loop as arguments and is no part of its text.
 */
export const formulaTest: TestKernel = (plan, slow, build) => {
  if (plan.kind !== 'compare' || !mayGenerate()) return undefined
  const { left, right, operator } = plan
  const { type } = left
  if (!isNumber(type) || !(isStep(left) || isStep(right))) return undefined
  // V8 takes up to 80 ms to compile 32 rows of BigInts. These become arrays, which are compared.
  const areExact = [left, right].every((side) => side.kind === 'literal' || rangeOf(side) !== undefined)
  if (!isShort(type) && !areExact) return undefined
  const mayBeNaN = type.typeId === Type.Float && !(right.kind === 'literal' && !Number.isNaN(right.value))
  const order = (mayBeNaN ? orderOfDoubles : orderWithNumber)[operator]
  let written: { readonly formula: Formula; readonly row: string } | undefined
  const write = () => {
    const formula = new Formula(build.value)
    const [x, y] = [formula.write(left, false), formula.write(right, false)]
    return { formula, row: `{${formula.statements}const x=${x},y=${y};w|=(${order})<<$b}` }
  }
  return {
    cost: build.value(left).cost + build.value(right).cost,
    raises: slow.raises,
    test(frame, need, wanted, yes, no) {
      const mark = frame.mark()
      written ??= write()
      const inputs = written.formula.read(frame, need, written.row)
      if (inputs === undefined) slow.test(frame, need, wanted, yes, no)
      else {
        const { text, valid, parameters, names } = inputs
        const known = knownRows(frame, { valid }, need)
        const loop = keptFunction(text, () => generate<TestLoop>(names.join(), text))
        loop(frame.length, known, yes, ...parameters)
        if (wanted !== wantTrue) subtract(known, yes, no, frame.words)
      }
      frame.release(mark)
    },
  }
}

/** The values of a formula. */
export const formulaValues: ValueKernel = (plan, slow, build) => {
  if (!isStep(plan) || !mayGenerate()) return undefined
  const { type } = plan
  const range = rangeOf(plan)
  const isHalves = !isShort(type) && range !== undefined
  let written: { readonly formula: Formula; readonly row: string } | undefined
  const write = () => {
    const formula = new Formula(build.value)
    const x = formula.write(plan, !isShort(type) && !isHalves)
    return { formula, row: formula.statements + (isHalves ? writeHalves(x, range) : `out[i]=${x}`) }
  }
  return {
    cost: operandsOf(plan).reduce((sum, arg) => sum + build.value(arg).cost, 1),
    raises: slow.raises,
    vector(frame, need) {
      written ??= write()
      const inputs = written.formula.read(frame, need, written.row)
      if (inputs === undefined) return slow.vector(frame, need)
      const { text, valid, parameters, names } = inputs
      const out = frame.array(arrayTypeOf(type) as typeof Int32Array, frame.length)
      const body = `for(let i=0;i<n;i++){${text.replaceAll('$i', 'i')}}/*${out.constructor.name}*/`
      const loop = keptFunction(body, () => functionOf<ValueLoop>(['n', 'out', ...names], body))
      loop(frame.length, isHalves ? halvesOf(out as never) : signed(out), ...parameters)
      return { kind: isShort(type) ? 'numbers' : 'longs', type, valid, values: out } as Vector
    },
  }
}

type TestLoop = (n: number, need: Bitmap, out: Bitmap, ...parameters: unknown[]) => void
type ValueLoop = (n: number, out: unknown, ...parameters: unknown[]) => void

/**
 * Writes both halves of a 64-bit integer that is given as a double. Most fit into 32 bits: as long as all of them do,
 * V8 computes with integers only.
 */
function writeHalves(x: string, [min, max]: Range): string {
  if (isInt32(min) && isInt32(max)) return `const x=${x};out[2*i]=x;out[2*i+1]=x>>31`
  return `const x=${x},low=x|0;out[2*i]=low;out[2*i+1]=x===low?low>>31:Math.floor(x/4294967296)`
}

/** Writes plans as JavaScript expressions, which refer to inputs by name: arrays `v…`, constants and functions `k…`. */
class Formula {
  readonly leaves: { readonly node: ValueNode; readonly type: DataType }[] = []
  operations = 0
  /** Statements before the expression. */
  statements = ''
  #temporaries = 0
  readonly #constants: unknown[] = []
  readonly #functions: number[] = []
  readonly #value: (plan: Plan) => ValueNode

  constructor(value: (plan: Plan) => ValueNode) {
    this.#value = value
  }

  /**
   * The expression for row `$i`: a BigInt if `isLong`, otherwise a number. 64-bit integers may be numbers if they have
   * a range.
   */
  write(plan: Plan, isLong: boolean): string {
    const { type } = plan
    if (plan.kind === 'literal') return this.#constant(constantOf(plan.value as number | bigint, isLong))
    if (!isStep(plan) || this.operations === maxOperations || (isLong && plan.kind === 'cast')) {
      const name = `v${this.leaves.push({ node: this.#value(plan), type }) - 1}[$i]`
      return isShort(type) || isLong ? name : `Number(${name})`
    }
    this.operations++
    if (plan.kind === 'call') {
      const apply = plan.function.kernel?.kind === 'double' ? plan.function.kernel.apply : undefined
      this.#functions.push(numberOf(apply!))
      return `${this.#constant(apply)}(${this.write(plan.args[0]!, false)})`
    }
    if (plan.kind === 'cast') return this.#cast(plan.arg, type)
    if (plan.kind === 'negate') {
      const x = this.write(plan.arg, isLong)
      return this.#fit(type, isLong || type.typeId === Type.Float ? `-${x}` : `0-${x}`, isLong)
    }
    const { operator, left, right } = plan
    const x = this.write(left, isLong)
    const y = this.write(right, isLong)
    if (type.typeId === Type.Float || isLong) return this.#fit(type, `${x}${operator}${y}`, isLong)
    if (operator === '/' || operator === '%')
      return this.#divide(operator, x, y, rangeOf(left)!, rangeOf(right)!)
    return this.#fit(
      type,
      operator === '*' && isShort(type) ? `Math.imul(${x},${y})` : `${x}${operator}${y}`,
      isLong,
    )
  }

  #cast(arg: Plan, type: DataType): string {
    const isLong = !isShort(arg.type) && rangeOf(arg) === undefined
    const x = this.write(arg, isLong)
    if (type.typeId !== Type.Float) return x
    // Whole numbers have no -0.
    const number = isLong ? `Number(${x})` : arg.type.typeId === Type.Int ? `(${x}+0)` : x
    return type.precision === 1 ? `Math.fround(${number})` : number
  }

  /**
   * The quotient or remainder of whole numbers. With a half added, a quotient is at least half of the reciprocal above a
   * whole number. That is far more than the error of multiplying by the reciprocal, which is faster than a division.
   */
  #divide(operator: '/' | '%', x: string, y: string, range: Range, [divisor]: Range): string {
    const isSmall = isInt32(range[0]) && isInt32(range[1]) && isInt32(divisor)
    const v = this.#temporary(x)
    const quotient = isSmall
      ? `(${v}+((${v}>>31)+.5))*${this.#constant(1 / divisor)}|0`
      : `Math.trunc(${v}/${y})+0`
    if (operator === '/') return `(${quotient})`
    return isSmall ? `(${v}-Math.imul(${quotient},${y}))` : `(${v}-(${quotient})*${y})`
  }

  #temporary(text: string): string {
    const name = `t${this.#temporaries++}`
    this.statements += `const ${name}=${text};`
    return name
  }

  /** Cuts or rounds a result to its type. */
  #fit(type: DataType, text: string, isLong: boolean): string {
    if (isLong) return `BigInt.asIntN(64,${text})`
    if (type.typeId === Type.Float) {
      if (type.precision === 2) return `(${text})`
      return type.precision === 1
        ? `Math.fround(${text})`
        : `${this.#constant(roundToHalf)}(Math.fround(${text}))`
    }
    const { bitWidth, signed } = type as IntType
    if (bitWidth === 64) return `(${text})`
    const unused = 32 - bitWidth
    return `((${text})<<${unused}${signed ? '>>' : '>>>'}${unused})`
  }

  #constant(value: unknown): string {
    return `k${this.#constants.push(value) - 1}`
  }

  /**
   * The loop's text for the arrays of a slice, its parameters, and the rows that are not null. Undefined if a value does
   * not fit its type.
   */
  read(frame: Frame, need: Bitmap, row: string) {
    checkTime()
    let valid: Bitmap | null = null
    const arrays: AnyArray[] = []
    for (const { node, type } of this.leaves) {
      const vector = node.vector(frame, need)
      const values = flat(frame, vector, need, type)
      if (values === undefined) return undefined
      arrays.push(signed(values))
      valid = bothValid(frame, valid, vector.valid, need)
    }
    // A loop that gets arrays of several types is much slower.
    const kinds = arrays.map((array) => array.constructor.name)
    return {
      text: `/*${kinds} ${this.#functions}*/${row}`,
      valid,
      parameters: [...arrays, ...this.#constants],
      names: [...numbered('v', arrays.length), ...numbered('k', this.#constants.length)],
    }
  }
}

const numbersOfFunctions = new WeakMap<object, number>()
let lastNumber = 0

/** A number for a function: V8 inlines the function into its loop, as long as the loop gets no other one. */
function numberOf(apply: object): number {
  const number = numbersOfFunctions.get(apply) ?? ++lastNumber
  numbersOfFunctions.set(apply, number)
  return number
}

function constantOf(value: number | bigint, isLong: boolean): number | bigint {
  return isLong ? BigInt.asIntN(64, BigInt(value)) : Number(value)
}

type AnyArray = NumberArray | BigInt64Array | BigUint64Array

/** The array type for values of a number type. */
function arrayTypeOf(type: DataType) {
  if (type.typeId === Type.Int) return type.values
  return type.typeId === Type.Float && type.precision === 2 ? Float64Array : Float32Array
}

/** V8 computes with elements of a BigInt64Array as machine integers. The lowest 64 bits are the same. */
function signed(values: AnyArray): AnyArray {
  if (!(values instanceof BigUint64Array)) return values
  return new BigInt64Array(values.buffer as ArrayBuffer, values.byteOffset, values.length)
}

/**
 * A vector's values as an array. Encoded values and function results are copied into one. Undefined if one does not fit,
 * such as a year of more than 32 bits.
 */
function flat(frame: Frame, vector: Vector, need: Bitmap, type: DataType): AnyArray | undefined {
  if (vector.kind === 'numbers' || vector.kind === 'longs') return vector.values
  const read = readerOf(vector)
  const values = frame.array(arrayTypeOf(type), frame.length) as AnyArray
  let fits = true
  forEachRow(
    need,
    (row) => {
      const value = read(row)
      if (value === null) return
      values[row] = value as never
      fits &&= type.typeId === Type.Float || values[row] === value
    },
    frame.words,
  )
  return fits ? values : undefined
}

function bothValid(frame: Frame, a: Bitmap | null, b: Bitmap | null, need: Bitmap): Bitmap | null {
  if (a === null || b === null) return a ?? b
  return knownRows(frame, { valid: a }, knownRows(frame, { valid: b }, need))
}

function isInt32(value: number): boolean {
  return (value | 0) === value
}
