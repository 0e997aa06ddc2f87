import { type Bitmap, hasRow } from '../../../arrow/bitmap.ts'
import { floorDiv } from '../../calendar.ts'
import type { Steps } from '../../evaluate/node.ts'
import type { Longs } from '../../evaluate/vector.ts'
import type { Scalar } from '../../plan/plan.ts'
import { compile, eachWord } from '../kernels/compile.ts'

/** Buckets at most: a table that a processor's second cache holds. */
const mostBuckets = 1 << 17
/** Buckets more at each end, as later rows often lie a little outside. */
const margin = 64
/** What a bucket says of its values: no, yes, or that they lie in two steps with different answers. */
const mixed = 2

type Loop = (
  halves: Int32Array,
  low: number,
  first: number,
  mask: number,
  table: Uint8Array,
  exact: (row: number, word: number, needed: number) => number,
  n: number,
  need: Bitmap,
  out: Bitmap,
) => number

/**
 * A question asked of a function that is the same within a step, such as `date_part('month', time) = 12`. The
 * values that a step is cut from go to buckets of a power of two, an eighth to a quarter of a step each; a bucket
 * knows the answer, unless the answer changes within it. So a row takes a shift and a look into a table of bytes:
 * 6.9 ns of a processor where the function's result and then the comparison took 12.5, and comparing a number 2.7.
 */
export class StepTest {
  readonly #steps: Steps
  readonly #holds: (value: Scalar) => boolean
  readonly #bits: number
  readonly #loop: Loop
  #first = 0
  /** One less than the number of buckets, which is a power of two; -1 while there is none. */
  #mask = -1
  #table = new Uint8Array(0)
  /** Rows it was made for. */
  #rows = 0
  readonly #answers = new Map<number, number>()

  constructor(steps: Steps, holds: (value: Scalar) => boolean) {
    this.#steps = steps
    this.#holds = holds
    this.#bits = bucketBits(steps.step)
    this.#loop = loopFor(this.#bits)
  }

  /** Whether steps are long enough for it. */
  static suits({ step }: Steps): boolean {
    return bucketBits(step) > 0
  }

  /** Writes the rows of `need`, none of them null, for which the answer is yes; false if it cannot. */
  ask({ values }: Longs, n: number, need: Bitmap, out: Bitmap): boolean {
    const halves = new Int32Array(values.buffer as ArrayBuffer, values.byteOffset, values.length * 2)
    if (this.#mask >= 0 && this.#run(values, halves, n, need, out)) return true
    const range = this.#rangeOf(halves, n, need)
    if (range === undefined || !this.#cover(range[0], range[1], n)) return false
    // Whatever still lies outside is not needed.
    this.#run(values, halves, n, need, out)
    return true
  }

  /** False when a value, needed or not, was outside of the table. */
  #run(values: Longs['values'], halves: Int32Array, n: number, need: Bitmap, out: Bitmap): boolean {
    const bits = this.#bits
    const exact = (row: number, word: number, needed: number) => {
      for (let rest = needed; rest !== 0; rest &= rest - 1) {
        const bit = 31 - Math.clz32(rest & -rest)
        const bucket = bucketOf(halves, row + bit, bits) - this.#first
        if (this.#table[bucket & this.#mask] !== mixed) continue
        if (this.#answer(stepOf(values[row + bit]!, this.#steps.step)) === 1) word |= 1 << bit
      }
      return word
    }
    const low = bits < 32 ? bits : bits - 32
    return this.#loop(halves, low, this.#first, this.#mask, this.#table, exact, n, need, out) === 0
  }

  /** The first and the last bucket of the needed values; undefined when one's number is too large. */
  #rangeOf(halves: Int32Array, n: number, need: Bitmap): readonly [number, number] | undefined {
    const bits = this.#bits
    let least = 2 ** 31
    let greatest = -(2 ** 31)
    for (let row = 0; row < n; row++) {
      if (!hasRow(need, row)) continue
      const high = halves[2 * row + 1]!
      if (bits < 32 && high >> (bits - 1) !== high >> 31) return undefined
      const bucket = bucketOf(halves, row, bits)
      if (bucket < least) least = bucket
      if (bucket > greatest) greatest = bucket
    }
    return least > greatest ? [0, 0] : [least, greatest]
  }

  #cover(least: number, greatest: number, rows: number): boolean {
    const end = this.#first + this.#mask
    if (this.#mask >= 0 && least >= this.#first && greatest <= end) return true
    const [from, to] = [Math.min(this.#first, least), Math.max(end, greatest)]
    this.#rows += rows
    // What it held before may be far from what is asked for now; a table larger than the rows does not pay.
    const most = Math.min(mostBuckets, this.#rows)
    const [first, last] = this.#mask >= 0 && to - from < most ? [from, to] : [least, greatest]
    const isFar = Math.max(-first, last) > 2 ** 30
    if (isFar || greatest - least >= Math.min(mostBuckets, rows)) return false
    const size = 2 ** Math.ceil(Math.log2(last - first + 1 + 2 * margin))
    this.#first = first - margin
    this.#mask = size - 1
    // Buckets past the last one are not looked into yet: their rows are worked on one by one.
    this.#table = new Uint8Array(size).fill(mixed)
    for (let i = -margin; i <= last - first + margin; i++) this.#table[i + margin] = this.#bucket(first + i)
    return true
  }

  #bucket(bucket: number): number {
    const width = 2 ** this.#bits
    const start = bucket * width
    const isSafe = Number.isSafeInteger(start) && Number.isSafeInteger(start + width)
    const [a, b] = isSafe ? [start, start + width - 1] : [BigInt(start), BigInt(start) + BigInt(width) - 1n]
    const { step } = this.#steps
    const answer = this.#answer(stepOf(a, step))
    return answer === this.#answer(stepOf(b, step)) ? answer : mixed
  }

  #answer(step: number): number {
    let answer = this.#answers.get(step)
    if (answer === undefined) {
      answer = this.#holds(this.#steps.at(step)) ? 1 : 0
      if (this.#answers.size >= mostBuckets) this.#answers.clear()
      this.#answers.set(step, answer)
    }
    return answer
  }
}

/** Between an eighth and a quarter of a step, so that one bucket in two to eight at most holds parts of two. */
function bucketBits(step: number): number {
  return Math.floor(Math.log2(step)) - 2
}

/** `value >> bits`, which is known to be an integer of 32 bits. */
function bucketOf(halves: Int32Array, row: number, bits: number): number {
  const high = halves[2 * row + 1]!
  return bits >= 32 ? high >> (bits - 32) : (high << (32 - bits)) | (halves[2 * row]! >>> bits)
}

/** The step a value lies in. Between safe integers a quotient of doubles never reaches the next whole number. */
function stepOf(value: number | bigint, step: number): number {
  const double = Number(value)
  if (Number.isSafeInteger(double)) return Math.floor(double / step)
  return Number(floorDiv(BigInt(value), BigInt(step)))
}

function loopFor(bits: number): Loop {
  const isHigh = bits >= 32
  const bucket = isHigh ? 'h>>s' : 'h<<32-s|v[2*($i)]>>>s'
  // A bucket's number has to fit into 32 bits.
  const fits = isHigh ? '' : 'x|=h>>s-1^h>>31;'
  return compile<Loop>(
    `step test ${isHigh}`,
    'v,s,first,mask,table,exact,n,need,out',
    () => `
      let x = 0
      ${eachWord(
        `{const h=v[2*($i)+1],p=(${bucket})-first|0,c=p&mask,t=table[c];x|=p^c;${fits}y|=t;w|=(t&1)<<$b}`,
        'let y=0',
        'if(y>1)w=exact(i,w,m)',
      )}
      return x`,
  )
}
