import type { Bitmap } from '../../arrow/bitmap.ts'
import type { FastPath } from '../evaluate/build.ts'
import { eachNeeded } from '../evaluate/each-needed.ts'
import type { NumberArray } from '../evaluate/vector.ts'
import { halvesOf, widened } from './compare-numbers.ts'

/** `IN` a list of numbers. */
export const numberSets: FastPath = {
  name: 'number-sets',
  ask(plan, slow) {
    if (plan.kind !== 'in') return undefined
    const [first] = plan.values
    if (typeof first !== 'number' && typeof first !== 'bigint') return undefined
    const numbers = plan.values.map(Number)
    const askInts = intSet(numbers)
    const askDoubles = doubleSet(numbers)
    const askLongs = typeof first === 'bigint' ? longSet(plan.values as readonly bigint[]) : undefined
    return (frame, vectors, need, out) => {
      const [vector] = vectors
      const n = frame.length
      if (vector.kind === 'longs' && askLongs) askLongs(halvesOf(vector.values), n, need, out)
      else if (vector.kind === 'numbers') {
        const values = asInts(vector.values) ?? widened(frame, vector.values)
        if (values instanceof Int32Array) askInts(values, n, need, out)
        else askDoubles(values, n, need, out)
      } else slow(frame, vectors, need, out)
    }
  },
}

type Loop<V> = (values: V, n: number, need: Bitmap, out: Bitmap) => void

/** Unsigned integers have the same bits as signed ones, and a set asks for nothing else. */
function asInts(values: NumberArray): Int32Array | undefined {
  if (!(values instanceof Uint32Array)) return undefined
  return new Int32Array(values.buffer as ArrayBuffer, values.byteOffset, values.length)
}

const longestTable = 65_536

/** Integers that lie close together: a byte for each from the least to the greatest, read without a branch. */
function intSet(list: readonly number[]): Loop<Int32Array> {
  const ints = list.map((value) => value | 0)
  const least = ints.reduce((a, b) => Math.min(a, b), 2 ** 31)
  const range = ints.reduce((a, b) => Math.max(a, b), -(2 ** 31)) - least
  if (range >= longestTable) {
    const doubles = doubleSet(ints)
    let wide = new Float64Array(0)
    return (values, n, need, out) => {
      if (wide.length < n) wide = new Float64Array(n)
      wide.set(values)
      doubles(wide, n, need, out)
    }
  }
  const mask = 2 ** (32 - Math.clz32(range)) - 1
  const table = new Uint8Array(mask + 1)
  for (const value of ints) table[value - least] = 1
  return (values, n, need, out) => lookUp(values, table, least, range, mask, n, need, out)
}

function lookUp(
  values: Int32Array,
  table: Uint8Array,
  least: number,
  range: number,
  mask: number,
  n: number,
  need: Bitmap,
  out: Bitmap,
): void {
  for (let i = 0, q = 0; i < n; i += 32, q++) {
    let word = 0
    if (need[q] !== 0) {
      for (let k = Math.min(i + 32, n) - 1; k >= i; k--) {
        const x = (values[k]! - least) >>> 0
        word = (word << 1) | (table[x & mask]! & +(x <= range))
      }
    }
    out[q] = word & need[q]!
  }
}

const comparedOneByOne = 8

/** NaN is equal to itself, -0 to 0. */
function doubleSet(list: readonly number[]): Loop<Float64Array> {
  const set = new Set(list)
  const few = [...set].filter((value) => !Number.isNaN(value))
  if (few.length > comparedOneByOne) {
    return (values, n, need, out) => eachNeeded(n, need, out, (row) => set.has(values[row]!))
  }
  const nan = +set.has(Number.NaN)
  // Fewer are filled up with one of them, and none with what no value is equal to.
  const padded = Float64Array.from({ length: comparedOneByOne }, (_, i) => few[i] ?? few[0] ?? Number.NaN)
  const search = few.length > 4 ? isOneOfEight : isOneOfFour
  return (values, n, need, out) => search(values, padded, nan, n, need, out)
}

function isOneOfFour(
  values: Float64Array,
  list: Float64Array,
  nan: number,
  n: number,
  need: Bitmap,
  out: Bitmap,
): void {
  const [a, b, c, d] = list
  for (let i = 0, q = 0; i < n; i += 32, q++) {
    let word = 0
    if (need[q] !== 0) {
      for (let k = Math.min(i + 32, n) - 1; k >= i; k--) {
        const x = values[k]!
        const first = +(x === a) | +(x === b) | +(x === c) | +(x === d)
        word = (word << 1) | first | (+Number.isNaN(x) & nan)
      }
    }
    out[q] = word & need[q]!
  }
}

function isOneOfEight(
  values: Float64Array,
  list: Float64Array,
  nan: number,
  n: number,
  need: Bitmap,
  out: Bitmap,
): void {
  const [a, b, c, d, e, f, g, h] = list
  for (let i = 0, q = 0; i < n; i += 32, q++) {
    let word = 0
    if (need[q] !== 0) {
      for (let k = Math.min(i + 32, n) - 1; k >= i; k--) {
        const x = values[k]!
        const first = +(x === a) | +(x === b) | +(x === c) | +(x === d)
        const second = +(x === e) | +(x === f) | +(x === g) | +(x === h)
        word = (word << 1) | first | second | (+Number.isNaN(x) & nan)
      }
    }
    out[q] = word & need[q]!
  }
}

/**
 * A set of 64-bit integers: a hash table of their halves, for a BigInt for each row costs ten times as much.
 * The multiplier is chosen at random, so that no list can be made to collide.
 */
function longSet(list: readonly bigint[]): Loop<Uint32Array> {
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
