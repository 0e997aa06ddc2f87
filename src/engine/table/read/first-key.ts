import { Type } from '@uwdata/flechette'
import type { TimeSlice } from '../../../base/scheduling/time-slice.ts'
import type { AnyBatch } from '../../arrow/batch.ts'
import { getBit } from '../../arrow/bitmap.ts'
import { layoutOf } from '../../arrow/layout.ts'
import { compareKey, type SortKey, type SortValue } from './sort-keys.ts'

/**
 * Rows of a block, of which the best value is remembered. Of ten million random numbers the ten least lie in some 30
 * blocks. Blocks of fewer rows would take longer to go through.
 */
export const blockRows = 1_024

/** Bytes of an average text from which on no block is searched for its best value: that might take too long at once. */
const longTexts = 256

/** What is known of a column's blocks in an order. */
interface KnownBlocks {
  /** The best value of each block. */
  readonly best: SortValue[]
  /** The blocks from the best one on. */
  ranking: Int32Array | undefined
}

/** The blocks of columns, by direction and place of nulls. Cached columns keep theirs. */
const known = new WeakMap<AnyBatch, Map<number, KnownBlocks>>()

/** Blocks whose best values are found between two checks of the clock. */
const blocksAtOnce = 16

/** The worst value that a row may have. */
export interface Bound {
  readonly value: SortValue
  /** Whether rows with that value are included. */
  readonly ties: boolean
  /** The worst value that rows with that value may have in the second key; undefined for any. */
  readonly second?: SortValue | undefined
}

/** A key, and its values in a fragment. */
interface KeyColumn {
  readonly key: SortKey
  readonly batch: AnyBatch
}

/** Whether a value comes behind the bound. Zeros count as equal, as the loops over numbers do not tell them apart. */
export function isBehind(key: SortKey, value: SortValue, { value: bound, ties }: Bound): boolean {
  if (value === 0 && bound === 0) return false
  const order = compareKey(key, value, bound)
  return order > 0 || (order === 0 && !ties)
}

/** The values of the first sort key in a fragment. */
export class FirstKey {
  /** Whether the same values were read before in this order, as those of a cached column. */
  readonly isKnown: boolean
  readonly #key: SortKey
  readonly #batch: AnyBatch
  readonly #values: Values
  readonly #read: (row: number) => SortValue
  readonly #known: KnownBlocks
  /** Drops rows that have the value of a bound, and a second value behind it; undefined if it takes a look at each. */
  readonly #narrow: Narrow | undefined

  /** `second` is the key that decides between equal values, if there is one. */
  constructor({ key, batch }: KeyColumn, read: (row: number) => SortValue, second?: KeyColumn) {
    this.#key = key
    this.#batch = batch
    this.#narrow = second && narrower(batch, second)
    this.#read = read
    this.#values = valuesOf(batch, key, read)
    const byOrder = known.get(batch) ?? new Map<number, KnownBlocks>()
    const order = key.direction * (key.nullsFirst ? 2 : 1)
    this.isKnown = byOrder.has(order)
    this.#known = byOrder.get(order) ?? { best: [], ranking: undefined }
    known.set(batch, byOrder.set(order, this.#known))
  }

  /** How many values there are. */
  get length(): number {
    return this.#batch.length
  }

  /** Whether the best values of blocks can be found in a short time. */
  get canRank(): boolean {
    return this.#values.hasBest
  }

  /** The best value of all rows of a block. */
  bestOf(block: number): SortValue {
    const { best } = this.#known
    const found = best[block]
    if (found !== undefined) return found
    const start = block * blockRows
    best[block] = this.#read(this.#findBest(start, Math.min(start + blockRows, this.length)))
    return best[block]
  }

  /** The blocks in the order of their best values, and of their rows where these are equal. */
  async ranking(timeSlice: TimeSlice): Promise<Int32Array> {
    const blocks = Math.ceil(this.length / blockRows)
    if (this.#known.ranking !== undefined) return this.#known.ranking
    const best: SortValue[] = []
    for (let block = 0; block < blocks; block++) {
      best.push(this.bestOf(block))
      if (block % blocksAtOnce === 0 && timeSlice.due) await timeSlice.rest()
    }
    const ranking = Int32Array.from(best, (_, block) => block)
    ranking.sort((a, b) => compareKey(this.#key, best[a]!, best[b]!) || a - b)
    this.#known.ranking = ranking
    return ranking
  }

  /** Writes the rows of a run that may be within the bound, in any order, and returns their number. */
  candidates(bound: Bound | undefined, start: number, end: number, into: Int32Array): number {
    const { validity, nullCount } = this.#batch
    let count = bound ? this.#values.within(bound, start, end, into) : undefined
    if (count === undefined) {
      for (let row = start; row < end; row++) into[row - start] = row
      return end - start
    }
    if (nullCount === 0) return (bound && this.#narrow?.(bound, into, count)) ?? count
    const found = count
    count = 0
    for (let i = 0; i < found; i++) if (getBit(validity, into[i]!)) into[count++] = into[i]!
    if (this.#key.nullsFirst)
      for (let row = start; row < end; row++) if (!getBit(validity, row)) into[count++] = row
    return count
  }

  #findBest(start: number, end: number): number {
    const { validity, nullCount } = this.#batch
    const isNull = (row: number) => nullCount > 0 && !getBit(validity, row)
    if (nullCount > 0 && this.#key.nullsFirst)
      for (let row = start; row < end; row++) if (isNull(row)) return row
    let first = start
    while (first < end && isNull(first)) first++
    return first === end ? start : this.#values.best(first, end, isNull)
  }
}

/** Keeps some of the first `count` rows, which are within the bound, and returns their number; undefined for all. */
type Narrow = (bound: Bound, rows: Int32Array, count: number) => number | undefined

/** Of rows that are alike in the first key, most are behind by the second one where few values are many rows'. */
function narrower(first: AnyBatch, { key, batch: second }: KeyColumn): Narrow | undefined {
  const isNumeric = isArrayOfNumbers(first) && isArrayOfNumbers(second)
  if (!isNumeric || first.nullCount > 0 || second.nullCount > 0) return undefined
  const [values, others] = [first.values as Float64Array, second.values as Float64Array]
  const mayBeNegativeZero = first.type.typeId === Type.Float
  return ({ value, second: bound }, rows, count) => {
    if (typeof bound !== 'number' || Number.isNaN(bound) || Number.isNaN(value)) return undefined
    // A zero equals the other one for the processor, but not in this order.
    if (value === 0 && mayBeNegativeZero) return undefined
    let kept = 0
    for (let i = 0; i < count; i++) {
      const row = rows[i]!
      const other = others[row]!
      // NaN is the greatest number.
      const isBehind = key.direction === 1 ? !(other <= bound) : other < bound
      if (values[row] !== value || !isBehind) rows[kept++] = row
    }
    return kept
  }
}

/** Loops over values of one layout. They ignore which rows are null unless it is said. */
interface Values {
  /** Whether `best` takes a short time. */
  readonly hasBest: boolean
  /** The best row that is not null; `first` is such a row. */
  best(first: number, end: number, isNull: (row: number) => boolean): number
  /** Writes the rows within the bound, and returns their number; undefined if all may be. */
  within(bound: Bound, start: number, end: number, into: Int32Array): number | undefined
}

function valuesOf(batch: AnyBatch, key: SortKey, read: (row: number) => SortValue): Values {
  const { values, offsets, type } = batch
  if (values instanceof BigInt64Array || values instanceof BigUint64Array) {
    if (type.typeId !== Type.Decimal && type.typeId !== Type.Dictionary) return longs(values, key)
  } else if (isArrayOfNumbers(batch)) return numbers(values as Float64Array, key)
  if (offsets instanceof Int32Array && layoutOf(type).kind === 'bytes')
    return texts(values as Uint8Array, offsets, batch.length, key)
  return {
    hasBest: layoutOf(type).kind !== 'views',
    best(first, end, isNull) {
      let best = first
      let least = read(first)
      for (let row = first + 1; row < end; row++) {
        if (isNull(row)) continue
        const value = read(row)
        if (compareKey(key, value, least) < 0) [best, least] = [row, value]
      }
      return best
    },
    within: () => undefined,
  }
}

function isArrayOfNumbers({ type }: AnyBatch): boolean {
  switch (type.typeId) {
    case Type.Int:
    case Type.Date:
    case Type.Time:
      return true
    case Type.Float:
      return type.precision > 0
    default:
      return false
  }
}

function numbers(values: Float64Array, { direction }: SortKey): Values {
  return {
    hasBest: true,
    best: direction === 1 ? least : greatest,
    within({ value: bound, ties: wantsTies }, start, end, into) {
      if (typeof bound !== 'number' || Number.isNaN(bound)) return undefined
      // The processor treats zeros as equal; this order does not.
      const ties = wantsTies || bound === 0
      let count = 0
      if (direction === 1) {
        for (let row = start; row < end; row++) {
          const value = values[row]!
          if (value < bound || (ties && value === bound)) into[count++] = row
        }
      } else {
        for (let row = start; row < end; row++) {
          const value = values[row]!
          // Negated comparison, because NaN is the greatest number in this order.
          if (!(value <= bound) || (ties && value === bound)) into[count++] = row
        }
      }
      return count
    },
  }

  function least(first: number, end: number, isNull: (row: number) => boolean): number {
    let best = first
    let bound = values[first]!
    for (let row = first + 1; row < end; row++) {
      const value = values[row]!
      if ((value < bound || Number.isNaN(bound)) && !isNull(row)) [best, bound] = [row, value]
    }
    return best
  }

  function greatest(first: number, end: number, isNull: (row: number) => boolean): number {
    let best = first
    let bound = values[first]!
    for (let row = first + 1; row < end && !Number.isNaN(bound); row++) {
      const value = values[row]!
      if (!(value <= bound) && !isNull(row)) [best, bound] = [row, value]
    }
    return best
  }
}

/** Integers of 64 bits as two halves: reading them as bigint would take ten times as long. */
function longs(values: BigInt64Array | BigUint64Array, { direction }: SortKey): Values {
  const Halves = values instanceof BigInt64Array ? Int32Array : Uint32Array
  const { buffer, byteOffset, length } = values
  const halves = new Halves(buffer as ArrayBuffer, byteOffset, length * 2)
  return {
    hasBest: true,
    best(first, end, isNull) {
      let best = first
      let high = halves[2 * first + 1]!
      let low = halves[2 * first]! >>> 0
      for (let row = first + 1; row < end; row++) {
        const order = direction * (halves[2 * row + 1]! - high || (halves[2 * row]! >>> 0) - low)
        if (order >= 0 || isNull(row)) continue
        best = row
        high = halves[2 * row + 1]!
        low = halves[2 * row]! >>> 0
      }
      return best
    },
    within({ value, ties }, start, end, into) {
      if (typeof value !== 'bigint') return undefined
      const high = Number(value >> 32n)
      const low = Number(value & 0xffffffffn)
      let count = 0
      for (let row = start; row < end; row++) {
        const order = direction * (halves[2 * row + 1]! - high || (halves[2 * row]! >>> 0) - low)
        if (order < 0 || (order === 0 && ties)) into[count++] = row
      }
      return count
    },
  }
}

function texts(values: Uint8Array, offsets: Int32Array, rows: number, { direction }: SortKey): Values {
  const all = viewOf(values)
  return {
    hasBest: offsets[rows]! - offsets[0]! <= longTexts * rows,
    best(first, end, isNull) {
      let best = first
      let least = viewOf(values.subarray(offsets[first]!, offsets[first + 1]!))
      for (let row = first + 1; row < end; row++) {
        const order = direction * compareBytes(all, offsets[row]!, offsets[row + 1]!, least)
        if (order >= 0 || isNull(row)) continue
        best = row
        least = viewOf(values.subarray(offsets[row]!, offsets[row + 1]!))
      }
      return best
    },
    within({ value, ties }, start, end, into) {
      if (!(value instanceof Uint8Array)) return undefined
      const bound = viewOf(value)
      let count = 0
      for (let row = start; row < end; row++) {
        const order = direction * compareBytes(all, offsets[row]!, offsets[row + 1]!, bound)
        if (order < 0 || (order === 0 && ties)) into[count++] = row
      }
      return count
    },
  }
}

function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, byteLength)
}

/** Compares bytes four at a time: texts often have a common prefix, and a native call takes longer. */
function compareBytes(bytes: DataView, start: number, end: number, others: DataView): number {
  const length = end - start
  const shared = Math.min(length, others.byteLength)
  let i = 0
  for (; i + 4 <= shared; i += 4) {
    const difference = bytes.getUint32(start + i) - others.getUint32(i)
    if (difference !== 0) return difference
  }
  for (; i < shared; i++) {
    const difference = bytes.getUint8(start + i) - others.getUint8(i)
    if (difference !== 0) return difference
  }
  return length - others.byteLength
}
