import type { Bitmap } from '../../../arrow/bitmap.ts'
import { eachNeeded } from '../../evaluate/each-needed.ts'
import type { NumberArray } from '../../evaluate/vector.ts'
import { halvesOf } from './compare.ts'
import { compile, eachWord } from './compile.ts'

const comparedOneByOne = 8

/** Sets of numbers: writes the rows of `need` whose number is in the set into `out`. */
export interface NumberSet {
  numbers(values: NumberArray, n: number, need: Bitmap, out: Bitmap): void
}

/** A set of numbers as they lie in number arrays. NaN is equal to itself, -0 to 0. */
export function numberSet(list: readonly number[]): NumberSet {
  const set = new Set(list)
  const hasNaN = set.has(Number.NaN)
  const few = [...set].filter((value) => !Number.isNaN(value))
  if (few.length > comparedOneByOne || few.length === 0) {
    const inTable = tableOf(few)
    return {
      numbers(values, n, need, out) {
        const isFloat = values instanceof Float32Array || values instanceof Float64Array
        if (inTable !== undefined && !isFloat) inTable(values, n, need, out)
        else eachNeeded(n, need, out, (row) => set.has(values[row]!))
      },
    }
  }
  // Fewer are filled up with one of them, so that one loop does for up to eight.
  const size = few.length <= 4 ? 4 : comparedOneByOne
  const padded = Array.from({ length: size }, (_, i) => few[i] ?? few[0]!)
  const names = padded.map((_, i) => `k${i}`)
  const tests = names.map((name) => `+(x===${name})`).join('|')
  return {
    numbers(values, n, need, out) {
      const loop = compile<(v: NumberArray, n: number, need: Bitmap, out: Bitmap, ...k: number[]) => void>(
        `in ${values.constructor.name} ${size} ${hasNaN}`,
        `v,n,need,out,${names.join(',')}`,
        () => eachWord(`{const x=v[$i];w|=(${tests}${hasNaN ? '|+(x!==x)' : ''})<<$b}`),
      )
      loop(values, n, need, out, ...padded)
    },
  }
}

const longestTable = 65_536

/** Integers that lie close together: a byte for each from the least to the greatest, read without a branch. */
function tableOf(list: readonly number[]): NumberSet['numbers'] | undefined {
  const least = list.reduce((a, b) => Math.min(a, b), Infinity)
  const range = list.reduce((a, b) => Math.max(a, b), -Infinity) - least
  if (!Number.isInteger(least) || !(range < longestTable)) return undefined
  const mask = 2 ** (32 - Math.clz32(range)) - 1
  const table = new Uint8Array(mask + 1)
  for (const value of list) table[value - least] = 1
  return (values, n, need, out) => {
    const loop = compile<TableLoop>(
      `table ${values.constructor.name}`,
      'v,t,least,range,mask,n,need,out',
      () => eachWord('{const x=v[$i]-least>>>0;w|=(t[x&mask]&+(x<=range))<<$b}'),
    )
    loop(values, table, least, range, mask, n, need, out)
  }
}

type TableLoop = (
  values: NumberArray,
  table: Uint8Array,
  least: number,
  range: number,
  mask: number,
  n: number,
  need: Bitmap,
  out: Bitmap,
) => void

export interface LongSet {
  longs(values: BigInt64Array | BigUint64Array, n: number, need: Bitmap, out: Bitmap): void
}

/**
 * A set of 64-bit integers: a hash table of their halves, for a BigInt for each row costs ten times as much.
 * The multiplier is chosen at random, so that no list can be made to collide.
 */
export function longSet(list: readonly bigint[]): LongSet {
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
  return {
    longs(values, n, need, out) {
      const halves = halvesOf(values)
      eachNeeded(n, need, out, (row) => {
        const low = halves[2 * row]! | 0
        const high = halves[2 * row + 1]! | 0
        for (let slot = slotOf(low, high); used[slot] === 1; slot = (slot + 1) & mask) {
          if (table[2 * slot] === low && table[2 * slot + 1] === high) return true
        }
        return false
      })
    },
  }
}
