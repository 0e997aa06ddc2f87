import { invalid } from '../../../base/errors.ts'
import type { TimeSlice } from '../../../base/scheduling/time-slice.ts'
import type { FragmentBest } from '../scan/message.ts'
import { type Bound, isBehind } from './first-key.ts'
import { compareKey, type SortKey, type SortValue } from './sort-keys.ts'
import { sortedRows } from './sort-rows.ts'

/** Least rows that are kept before the worst are dropped. */
const minKept = 256

/** Most numbers that are sorted at once. */
const numbersAtOnce = 65_536

/** Bytes of a text that make its rank. A number holds six of them. */
const rankedBytes = 6

/** Bytes of an entry besides its values. */
const entryBytes = 40

/** Rows of a fragment that may be added. Values of keys are read by their positions. */
export interface Source {
  readonly fragment: number
  readonly readers: readonly ((position: number) => SortValue)[]
}

/** The positions of rows in order, and their values of each key. */
export interface SortedRows {
  readonly fragments: Int32Array
  readonly rows: Int32Array
  valueAt(key: number, position: number): SortValue
}

/** A row that was added, with its values by key. */
interface Row {
  readonly values: readonly SortValue[]
  readonly fragment: number
  readonly row: number
}

/**
 * The best rows by some keys: all that are added, or a limited number. Equal rows are in the
 * order of their positions. Only a row's keys and position are kept, and of no more than twice as many rows as are wanted.
 */
export class BestRows {
  readonly keys: readonly SortKey[]
  readonly wanted: number
  /** How many rows were looked at, and how many of them were added. */
  seen = 0
  added = 0
  readonly #maxBytes: number
  /** The values of the rows by key, their fragments, their positions there, and the ranks of their first values. */
  #values: SortValue[][]
  #fragments: number[] = []
  #rows: number[] = []
  #ranks: number[] = []
  #bytes = 0
  /** The worst of the best rows, once there are as many as are wanted. */
  #worst: Row | undefined
  readonly #given: Bound | undefined

  /** At least as many rows as are wanted do not come behind `bound`. */
  constructor(keys: readonly SortKey[], wanted: number, maxBytes: number, bound?: Bound) {
    this.keys = keys
    this.wanted = wanted
    this.#maxBytes = maxBytes
    this.#given = bound
    this.#values = keys.map(() => [])
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Whether there are as many rows as are wanted, and worse ones were dropped. */
  get isFull(): boolean {
    return this.#worst !== undefined
  }

  /** The bound for rows of a fragment from `start` on. A row equal to the worst one is better if it comes before. */
  boundFor(fragment: number, start: number): Bound | undefined {
    const worst = this.#worst
    if (worst === undefined) return this.#given
    const ties =
      this.keys.length > 1 || fragment < worst.fragment || (fragment === worst.fragment && start < worst.row)
    return { value: worst.values[0]!, ties, second: worst.values[1] }
  }

  /** Whether rows of a fragment from `start` on may be among the best. None precedes `best` by the first key. */
  mayAdd(fragment: number, start: number, best: SortValue): boolean {
    const bound = this.boundFor(fragment, start)
    return bound === undefined || !isBehind(this.keys[0]!, best, bound)
  }

  /**
   * Adds those rows that precede the worst one, of the first `count` in `rows`. If there are too many now, the promise
   * waits until the worst are dropped.
   */
  add(source: Source, rows: Int32Array, count: number, timeSlice: TimeSlice): Promise<void> | undefined {
    for (let i = 0; i < count; i++) {
      const row = rows[i]!
      if (this.#worst === undefined || this.#isBetter(source, row, row, this.#worst))
        this.#push(source, row, row)
    }
    return this.#rows.length >= Math.max(minKept, this.wanted * 2) ? this.#drop(timeSlice) : undefined
  }

  /** Adds rows that were found in a fragment. */
  addFound(
    fragment: number,
    { rows, values, seen }: FragmentBest,
    timeSlice: TimeSlice,
  ): Promise<void> | undefined {
    const source = { fragment, readers: values.map((ofKey) => (position: number) => ofKey[position]!) }
    this.seen += seen
    for (let i = 0; i < rows.length; i++) {
      if (this.#worst === undefined || this.#isBetter(source, rows[i]!, i, this.#worst))
        this.#push(source, rows[i]!, i)
    }
    // The worst one is a bound for other fragments, so it is found as soon as there are enough.
    const enough = this.isFull ? this.wanted * 1.5 + minKept : this.wanted
    return this.#rows.length >= enough ? this.#drop(timeSlice) : undefined
  }

  /** The best rows, from the first on. */
  async sorted(timeSlice: TimeSlice): Promise<SortedRows> {
    const all = Int32Array.from(this.#rows, (_, at) => at)
    const order = (await this.#inOrder(all, timeSlice)).subarray(0, Math.min(this.wanted, all.length))
    return {
      fragments: order.map((at) => this.#fragments[at]!),
      rows: order.map((at) => this.#rows[at]!),
      valueAt: (key, position) => this.#values[key]![order[position]!]!,
    }
  }

  /** The best rows with their values in any order, if all are of one fragment. */
  async found(timeSlice: TimeSlice): Promise<FragmentBest> {
    if (this.#rows.length > this.wanted) await this.#drop(timeSlice)
    return { rows: Int32Array.from(this.#rows), values: this.#values, seen: this.seen }
  }

  /** Whether a row precedes the worst one. */
  #isBetter({ fragment, readers }: Source, row: number, position: number, worst: Row): boolean {
    for (let k = 0; k < readers.length; k++) {
      const order = compareKey(this.keys[k]!, readers[k]!(position), worst.values[k]!)
      if (order !== 0) return order < 0
    }
    return (fragment - worst.fragment || row - worst.row) < 0
  }

  #push({ fragment, readers }: Source, row: number, position: number): void {
    this.#fragments.push(fragment)
    this.#rows.push(row)
    this.added++
    this.#bytes += entryBytes
    for (let k = 0; k < readers.length; k++) {
      const value = readers[k]!(position)
      // A view would keep the whole fragment in memory, as would the `slice` of a Buffer.
      this.#values[k]!.push(typeof value === 'object' && value !== null ? new Uint8Array(value) : value)
      this.#bytes += bytesOf(value)
      if (k === 0) this.#ranks.push(rankOf(this.keys[0]!, value))
    }
    if (this.#bytes > this.#maxBytes) throw tooMany(this.#maxBytes)
  }

  /** Drops all but the best rows, of which there are enough. */
  async #drop(timeSlice: TimeSlice): Promise<void> {
    const kept = await this.#bestInAnyOrder(timeSlice)
    const last = kept.at(-1)
    if (last === undefined) return
    this.#worst = {
      values: this.#values.map((values) => values[last]!),
      fragment: this.#fragments[last]!,
      row: this.#rows[last]!,
    }
    this.#fragments = itemsAt(this.#fragments, kept)
    this.#rows = itemsAt(this.#rows, kept)
    this.#ranks = itemsAt(this.#ranks, kept)
    this.#bytes = kept.length * entryBytes
    for (const [k, values] of this.#values.entries()) {
      this.#values[k] = itemsAt(values, kept)
      for (const value of this.#values[k]!) this.#bytes += bytesOf(value)
      if (timeSlice.due) await timeSlice.rest()
    }
  }

  /** The best of the rows, with the worst of these at the end. To sort their ranks takes a tenth of sorting the rows. */
  async #bestInAnyOrder(timeSlice: TimeSlice): Promise<Int32Array> {
    const { wanted } = this
    const ranks = this.#ranks
    if (ranks.length > numbersAtOnce) {
      const all = Int32Array.from(ranks, (_, at) => at)
      return (await this.#inOrder(all, timeSlice)).subarray(0, wanted)
    }
    const last = Float64Array.from(ranks).sort()[wanted - 1]!
    const kept = new Int32Array(wanted)
    const ties: number[] = []
    let count = 0
    for (let at = 0; at < ranks.length; at++) {
      if (ranks[at]! < last) kept[count++] = at
      else if (ranks[at] === last) ties.push(at)
    }
    const inOrder = await this.#inOrder(Int32Array.from(ties), timeSlice)
    kept.set(inOrder.subarray(0, wanted - count), count)
    return kept
  }

  /** Some of the rows in order: sorted in pieces, which are then merged. */
  async #inOrder(some: Int32Array, timeSlice: TimeSlice): Promise<Int32Array> {
    const { keys } = this
    const ranks = this.#ranks
    const values = this.#values
    const fragments = this.#fragments
    const rows = this.#rows
    const compare = (i: number, j: number): number => {
      const a = some[i]!
      const b = some[j]!
      if (ranks[a]! < ranks[b]!) return -1
      if (ranks[a]! > ranks[b]!) return 1
      for (let k = 0; k < keys.length; k++) {
        const order = compareKey(keys[k]!, values[k]![a]!, values[k]![b]!)
        if (order !== 0) return order
      }
      return fragments[a]! - fragments[b]! || rows[a]! - rows[b]!
    }
    // Comparing texts takes time in proportion to their common prefix.
    const cost = keys.length + this.#bytes / Math.max(1, ranks.length) / 256
    const order = await sortedRows(some.length, compare, cost, timeSlice)
    return order.map((i) => some[i]!)
  }
}

function itemsAt<T>(items: readonly T[], positions: Int32Array): T[] {
  const found: T[] = []
  for (let i = 0; i < positions.length; i++) found.push(items[positions[i]!]!)
  return found
}

/** A number for a value: one that comes before another one has no greater number, and mostly a smaller one. */
function rankOf({ direction, nullsFirst }: SortKey, value: SortValue): number {
  if (value === null) return nullsFirst ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY
  if (typeof value === 'object') {
    let prefix = 0
    for (let i = 0; i < rankedBytes; i++) prefix = prefix * 256 + (value[i] ?? 0)
    return direction * prefix
  }
  const number = Number(value)
  return direction * (Number.isNaN(number) ? Number.POSITIVE_INFINITY : number)
}

function bytesOf(value: SortValue): number {
  if (typeof value === 'bigint') return 40
  return typeof value === 'object' && value !== null ? value.length + 128 : 16
}

function tooMany(most: number): Error {
  return invalid(
    `Sorting these rows would take more than ${most.toLocaleString('en')} bytes of memory. Give a limit, or leave rows out by a filter.`,
  )
}
