import { type DataType, Type } from '@uwdata/flechette'
import { type Bitmap, hasRow } from '../../arrow/bitmap.ts'
import type { ValueKernel } from '../evaluate/build.ts'
import type { Frame } from '../evaluate/frame.ts'
import type { ValueNode } from '../evaluate/node.ts'
import { isLong } from '../evaluate/scalar.ts'
import type { NumberArray, Numbers, Vector } from '../evaluate/vector.ts'
import type { Plan } from '../plan/plan.ts'
import { checkTime } from '../work.ts'
import { halvesOf } from './compare.ts'

/** An expression that depends on another one: its value is `at(index)` for index `floor(value of arg / step)`. */
export interface Steps {
  readonly arg: Plan
  readonly step: number
  readonly at: (index: number) => number | bigint
}

/** The steps of a call, if its function has any. */
export function stepsOf(plan: Plan): Steps | undefined {
  const kernel = plan.kind === 'call' ? plan.function.kernel : undefined
  if (plan.kind !== 'call' || kernel?.kind !== 'step') return undefined
  const { evaluate } = plan.function
  const arg = plan.args[0]!
  const step = Number(kernel.step)
  const at = isLong(arg.type)
    ? (index: number) => evaluate(BigInt(index) * kernel.step)
    : (index: number) => evaluate(index * step)
  return { arg, step, at: remembered(kernel.key, at as Steps['at']) }
}

/** Results by step, for each key: computing thousands of dates takes longer than looking up millions of rows. */
const results = new Map<string, Map<number, number | bigint>>()

function remembered(key: string | undefined, at: Steps['at']): Steps['at'] {
  if (key === undefined) return at
  const known = results.get(key) ?? new Map<number, number | bigint>()
  results.set(key, known)
  return (index) => {
    let result = known.get(index)
    if (result === undefined) {
      result = at(index)
      if (known.size >= 1 << 14) known.clear()
      known.set(index, result)
    }
    return result
  }
}

/**
 * A function that is constant within a step, such as a day. It is called once for each step from the least to the
 * greatest, and then looked up. With the comparison, that takes 4.7 times as long as comparing a number.
 */
export const stepValues: ValueKernel = (plan, slow, build) => {
  const steps = stepsOf(plan)
  if (steps === undefined) return undefined
  const arg = build.value(steps.arg)
  const look = tableFor(plan.type, steps)
  return {
    ...slow,
    cost: arg.cost + 5,
    vector(frame, need) {
      const mark = frame.mark()
      const found = look(frame, need, arg)
      if (found !== undefined) return found
      frame.release(mark)
      return slow.vector(frame, need)
    },
  }
}

function tableFor(type: DataType, { step, at }: Steps) {
  const table = new StepTable(at)
  return (frame: Frame, need: Bitmap, arg: ValueNode): Vector | undefined => {
    const vector = arg.vector(frame, need)
    if (vector.kind !== 'longs' && vector.kind !== 'numbers') return undefined
    const { valid } = vector
    const indices = frame.array(Int32Array, frame.length)
    const longs = vector.kind === 'longs' ? halvesOf(vector.values) : undefined
    if (!(longs && table.mask >= 0 && longIndices(longs, step, table, indices))) {
      const range = rangeOf(frame, vector, step, need)
      // A few values far apart are faster one by one.
      if (range === undefined || range[1] - range[0] > frame.length) return undefined
      checkTime()
      if (!table.cover(range[0], range[1])) return undefined
      if (longs) anyLongIndices(longs, step, table.first, table.mask, indices)
      else numberIndices((vector as Numbers).values, step, table.first, table.mask, indices)
    }
    if (type.typeId !== Type.Timestamp) {
      lookUp(table.numbers, indices)
      return { kind: 'numbers', type, valid, values: indices }
    }
    const values = frame.array(BigInt64Array, frame.length)
    lookUpLongs(table.halves, indices, new Int32Array(values.buffer, 0, frame.length * 2))
    return { kind: 'longs', type, valid, values }
  }
}

/**
 * Writes the table index of the step of each value, given in halves. False if a step is not in the table, or a value is
 * negative, or 2^51 or more. A BigInt for each row would cost more than all the rest, and rounding down twice as much
 * as cutting to an integer. Below 2^51, adding a half exceeds any rounding error, and does not reach the next step.
 */
function longIndices(
  halves: Uint32Array,
  step: number,
  { first, mask }: StepTable,
  out: Int32Array,
): boolean {
  // The quotient must fit into 32 bits.
  if (step < 2 ** 20) return false
  const inverse = 1 / step
  let missed = 0
  const n = out.length
  for (let i = 0; i < n; i++) {
    const high = halves[2 * i + 1]!
    const index = ((((high * 4294967296 + halves[2 * i]! + 0.5) * inverse) | 0) - first) | 0
    const known = index & mask
    missed |= (index ^ known) | (high >>> 19)
    out[i] = known
  }
  return missed === 0
}

/**
 * As `longIndices`, for any values below 2^53. The caller knows that the steps of needed values are in the table. There,
 * a quotient of doubles never reaches the next whole number.
 */
function anyLongIndices(
  halves: Uint32Array,
  step: number,
  first: number,
  mask: number,
  out: Int32Array,
): void {
  const n = out.length
  for (let i = 0; i < n; i++) {
    const value = (halves[2 * i + 1]! | 0) * 0x100000000 + halves[2 * i]!
    out[i] = (Math.floor(value / step) - first) & mask
  }
}

function numberIndices(
  values: NumberArray,
  step: number,
  first: number,
  mask: number,
  out: Int32Array,
): void {
  const n = out.length
  for (let i = 0; i < n; i++) out[i] = (Math.floor(values[i]! / step) - first) & mask
}

/** Replaces table indices by the entries of the table. */
function lookUp(table: Int32Array, indices: Int32Array): void {
  const n = indices.length
  for (let i = 0; i < n; i++) indices[i] = table[indices[i]!]!
}

function lookUpLongs(table: Int32Array, indices: Int32Array, out: Int32Array): void {
  const n = indices.length
  for (let i = 0; i < n; i++) {
    const index = indices[i]!
    out[2 * i] = table[2 * index]!
    out[2 * i + 1] = table[2 * index + 1]!
  }
}

/**
 * The least and greatest step of the needed values, which may exclude others; undefined if one is too large for a
 * double.
 */
function rangeOf(
  frame: Frame,
  vector: Extract<Vector, { kind: 'longs' | 'numbers' }>,
  step: number,
  need: Bitmap,
): readonly [least: number, greatest: number] | undefined {
  const { values, valid } = vector
  let least: number | bigint | undefined
  let greatest: number | bigint | undefined
  for (let row = 0; row < frame.length; row++) {
    if (!hasRow(need, row) || (valid !== null && !hasRow(valid, row))) continue
    const value = values[row]!
    if (least === undefined || value < least) least = value
    if (greatest === undefined || value > greatest) greatest = value
  }
  if (least === undefined || greatest === undefined) return [0, 0]
  if (!Number.isSafeInteger(Number(least)) || !Number.isSafeInteger(Number(greatest))) return undefined
  return [Math.floor(Number(least) / step), Math.floor(Number(greatest) / step)]
}

/** Most steps of a table: 45 years of days, computed in 10 ms. */
const maxSteps = 1 << 14

/** Results of a function by step, for a range of steps that grows as needed. */
class StepTable {
  /** The step of the first entry. */
  first = 0
  /** One less than the number of entries, which is a power of two; -1 if there is none. */
  mask = -1
  numbers: Int32Array = new Int32Array(0)
  /** Results that are BigInts, as halves. */
  halves: Int32Array = new Int32Array(0)
  readonly #compute: (step: number) => number | bigint

  constructor(compute: (step: number) => number | bigint) {
    this.#compute = compute
  }

  /**
   * Extends the table to all steps from `least` to `greatest`. False if they are too many, or a result is too large.
   */
  cover(least: number, greatest: number): boolean {
    const end = this.first + this.mask
    if (this.mask >= 0 && least >= this.first && greatest <= end) return true
    const [from, to] = [Math.min(this.first, least), Math.max(end, greatest)]
    // The old range may be far from the new one.
    const [first, last] = this.mask >= 0 && to - from < maxSteps ? [from, to] : [least, greatest]
    if (last - first >= maxSteps) return false
    const size = 2 ** Math.ceil(Math.log2(last - first + 1))
    return this.#fill(first, size)
  }

  #fill(first: number, size: number): boolean {
    const numbers = new Int32Array(size)
    const halves = new BigInt64Array(size)
    for (let i = 0; i < size; i++) {
      const result = this.#compute(first + i)
      if (typeof result === 'number') numbers[i] = result
      else if (BigInt.asIntN(64, result) === result) halves[i] = result
      else return false
    }
    this.first = first
    this.mask = size - 1
    this.numbers = numbers
    this.halves = new Int32Array(halves.buffer)
    return true
  }
}
