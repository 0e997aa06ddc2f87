import { type DataType, Type } from '@uwdata/flechette'
import type { Bitmap } from '../../arrow/bitmap.ts'
import type { VectorTestKernel } from '../evaluate/build.ts'
import { eachNeeded } from '../evaluate/frame.ts'
import type { NumberArray } from '../evaluate/vector.ts'
import type { Scalar } from '../plan/plan.ts'
import { halvesOf, ofKind } from './compare.ts'
import { generated } from './generate.ts'

type Loop<V> = (values: V, n: number, need: Bitmap, out: Bitmap) => void

/** `IN` a list of numbers. */
export const numberSetTest: VectorTestKernel = (plan, slow) => {
  if (plan.kind !== 'in') return undefined
  const [first] = plan.values
  if (typeof first !== 'number' && typeof first !== 'bigint') return undefined
  const testNumbers = numberSet(plan.values.map(Number))
  const testLongs = typeof first === 'bigint' ? longSet(longsOf(plan.arg.type, plan.values)) : undefined
  return (frame, vectors, need, out) => {
    const [vector] = vectors
    if (vector.kind === 'longs' && testLongs) testLongs(halvesOf(vector.values), frame.length, need, out)
    else if (vector.kind === 'numbers') testNumbers(vector.values, frame.length, need, out)
    else slow(frame, vectors, need, out)
  }
}

/** Decimals of 128 bits may be stored in 64: larger ones are not among them. */
function longsOf(type: DataType, values: readonly Scalar[]): readonly bigint[] {
  const longs = values as readonly bigint[]
  return type.typeId === Type.Decimal ? longs.filter((value) => BigInt.asIntN(64, value) === value) : longs
}

const comparedOneByOne = 8

/** NaN equals itself, and -0 equals 0. */
function numberSet(list: readonly number[]): Loop<NumberArray> {
  const set = new Set(list)
  const hasNaN = set.has(Number.NaN)
  const few = [...set].filter((value) => !Number.isNaN(value))
  const isShort = few.length > 0 && few.length <= comparedOneByOne
  const search = isShort ? oneByOne(few, hasNaN) : (inTable(few) ?? inSlots(few))
  return (values, n, need, out) => {
    if (search?.(values, n, need, out)) return
    eachNeeded(n, need, out, (row) => set.has(values[row]!))
  }
}

/** Does the work of a loop, or returns false if it cannot. */
type TryTest = (values: NumberArray, n: number, need: Bitmap, out: Bitmap) => boolean

/** A list shorter than the loop's is filled up with one of its values. */
function oneByOne(few: readonly number[], hasNaN: boolean): TryTest {
  const size = few.length <= 4 ? 4 : comparedOneByOne
  const padded = Array.from({ length: size }, (_, i) => few[i] ?? few[0]!)
  const names = padded.map((_, i) => `k${i}`)
  const tests = names.map((name) => `+(x===${name})`).join('|')
  const row = `const x=values[$i];w|=(${tests}${hasNaN ? '|+(x!==x)' : ''})<<$b`
  return (values, n, need, out) => {
    const loop = generated<
      (n: number, need: Bitmap, out: Bitmap, values: NumberArray, ...k: number[]) => void
    >(`values,${names}`, ofKind(values, row))
    loop?.(n, need, out, values, ...padded)
    return loop !== undefined
  }
}

const longestTable = 65_536

/** Integers in a small range: a byte for each from the least to the greatest, read without a branch. */
function inTable(list: readonly number[]): TryTest | undefined {
  const least = list.reduce((a, b) => Math.min(a, b), Infinity)
  const range = list.reduce((a, b) => Math.max(a, b), -Infinity) - least
  if (!list.every(Number.isInteger) || !(range < longestTable)) return undefined
  const mask = 2 ** (32 - Math.clz32(range)) - 1
  const table = new Uint8Array(mask + 1)
  for (const value of list) table[value - least] = 1
  return (values, n, need, out) => {
    if (values instanceof Float32Array || values instanceof Float64Array) return false
    const loop = generated<TableLoop>(
      'values,table,least,range,mask',
      ofKind(values, 'const x=values[$i]-least>>>0;w|=(table[x&mask]&+(x<=range))<<$b'),
    )
    loop?.(n, need, out, values, table, least, range, mask)
    return loop !== undefined
  }
}

type TableLoop = (
  n: number,
  need: Bitmap,
  out: Bitmap,
  values: NumberArray,
  table: Uint8Array,
  least: number,
  range: number,
  mask: number,
) => void

/** Most integers in a hash table without collisions. */
const mostInSlots = 64

/** A hash table without collisions: each integer has a slot of its own, and empty slots hold that of another slot. */
interface Slots {
  readonly lows: Int32Array
  readonly highs: Int32Array
  readonly factor: number
  readonly shift: number
}

/** The table for the halves of different integers. Undefined for too many, or if no factor keeps them apart. */
function slotsOf(halves: readonly (readonly [low: number, high: number])[]): Slots | undefined {
  if (halves.length === 0 || halves.length > mostInSlots) return undefined
  const bits = Math.max(3, 2 * Math.ceil(Math.log2(halves.length)))
  const shift = 32 - bits
  attempts: for (let attempt = 1; attempt <= 64; attempt++) {
    const factor = Math.imul(0x9e3779b1, 2 * attempt + 1)
    const lows = new Int32Array(2 ** bits).fill(halves[0]![0])
    const highs = new Int32Array(2 ** bits).fill(halves[0]![1])
    const used = new Uint8Array(2 ** bits)
    for (const [low, high] of halves) {
      const slot = Math.imul(low ^ Math.imul(high, 0x9e3779b1), factor) >>> shift
      if (used[slot] === 1) continue attempts
      used[slot] = 1
      lows[slot] = low
      highs[slot] = high
    }
    return { lows, highs, factor, shift }
  }
  return undefined
}

/** Integers of up to 32 bits that lie far apart: one lookup for each row, without a branch. */
function inSlots(list: readonly number[]): TryTest | undefined {
  if (list.length > mostInSlots || !list.every(Number.isInteger)) return undefined
  const tables = new Map<unknown, Slots | undefined>()
  return (values, n, need, out) => {
    if (values instanceof Float32Array || values instanceof Float64Array) return false
    const kind = values.constructor as new (list: readonly number[]) => NumberArray
    // Integers that the column cannot have would have the bits of others.
    if (!tables.has(kind)) {
      const possible = list.filter((value) => new kind([value])[0] === value)
      tables.set(kind, slotsOf(possible.map((value) => [value | 0, 0])))
    }
    const slots = tables.get(kind)
    const loop =
      slots &&
      generated<SlotLoop<NumberArray>>(
        'values,lows,highs,factor,shift',
        ofKind(values, 'const x=values[$i];w|=+((lows[Math.imul(x,factor)>>>shift]^x)===0)<<$b'),
      )
    loop?.(n, need, out, values, slots!.lows, slots!.highs, slots!.factor, slots!.shift)
    return loop !== undefined
  }
}

type SlotLoop<V> = (
  n: number,
  need: Bitmap,
  out: Bitmap,
  values: V,
  lows: Int32Array,
  highs: Int32Array,
  factor: number,
  shift: number,
) => void

/** A short list of 64-bit integers. Undefined if there is no table for it. */
function shortLongSet(list: readonly bigint[]): Loop<Uint32Array> | undefined {
  if (list.length > mostInSlots) return undefined
  const halves = [...new Set(list)].map(
    (value) => [Number(BigInt.asIntN(32, value)), Number(BigInt.asIntN(32, value >> 32n))] as const,
  )
  const slots = slotsOf(halves)
  const loop =
    slots &&
    generated<SlotLoop<Uint32Array>>(
      'halves,lows,highs,factor,shift',
      '{const low=halves[2*($i)],high=halves[2*($i)+1],' +
        'slot=Math.imul(low^Math.imul(high,-1640531535),factor)>>>shift;' +
        'w|=+((lows[slot]^low|highs[slot]^high)===0)<<$b}',
    )
  if (loop === undefined) return undefined
  const { lows, highs, factor, shift } = slots!
  return (values, n, need, out) => loop(n, need, out, values, lows, highs, factor, shift)
}

/**
 * A set of 64-bit integers: a hash table of their halves, because a BigInt for each row costs ten times as much. The
 * multiplier is random, so that nobody can construct a list that collides.
 */
function longSet(list: readonly bigint[]): Loop<Uint32Array> {
  const short = shortLongSet(list)
  if (short !== undefined) return short
  const bits = Math.max(4, 32 - Math.clz32(list.length * 4))
  const mask = 2 ** bits - 1
  const table = new Int32Array(2 ** (bits + 1))
  const used = new Uint8Array(2 ** bits)
  const factor = (Math.random() * 0x100000000) | 1
  const slotOf = (low: number, high: number) =>
    Math.imul(low ^ Math.imul(high, 0x9e3779b1), factor) >>> (32 - bits)
  for (const value of list) {
    const low = Number(BigInt.asIntN(32, value))
    const high = Number(BigInt.asIntN(32, value >> 32n))
    let slot = slotOf(low, high)
    while (used[slot] === 1 && (table[2 * slot] !== low || table[2 * slot + 1] !== high))
      slot = (slot + 1) & mask
    used[slot] = 1
    table[2 * slot] = low
    table[2 * slot + 1] = high
  }
  return (halves, n, need, out) =>
    eachNeeded(n, need, out, (row) => {
      const low = halves[2 * row]! | 0
      const high = halves[2 * row + 1]! | 0
      for (let slot = slotOf(low, high); used[slot] === 1; slot = (slot + 1) & mask) {
        if (table[2 * slot] === low && table[2 * slot + 1] === high) return true
      }
      return false
    })
}
