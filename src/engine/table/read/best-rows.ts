import { invalid } from '../../../base/errors.ts'
import type { TimeSlice } from '../../../base/scheduling/time-slice.ts'
import type { AnyBatch } from '../../arrow/batch.ts'
import { candidateRows, compareKey, type SortKey, type SortValue, sortReader } from './sort-keys.ts'
import { sortedRows } from './sort-rows.ts'

/** Values, and rows at most, between two checks of the clock. */
const valuesAtOnce = 8_192
const rowsAtOnce = 1_024

/** Least rows that are kept before the worst are dropped. */
const minKept = 1_024

/** Bytes of an entry besides its values. */
const entryBytes = 32

/**
 * The best rows by some keys: all that are added, or a limited number. Only a row's keys and position are kept, and of
 * no more than twice as many rows as are wanted.
 */
export class BestRows {
  readonly #keys: readonly SortKey[]
  readonly #wanted: number
  readonly #maxBytes: number
  /** The values of the rows by key, their fragments, and their positions there. */
  #values: SortValue[][]
  #fragments: number[] = []
  #rows: number[] = []
  #bytes = 0
  /** The worst of the best rows, once there are as many as are wanted: its values by key. */
  #worst: readonly SortValue[] | undefined

  constructor(keys: readonly SortKey[], wanted: number, maxBytes: number) {
    this.#keys = keys
    this.#wanted = wanted
    this.#maxBytes = maxBytes
    this.#values = keys.map(() => [])
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Adds rows of a fragment, as runs. They follow all rows that were added before. */
  async add(
    fragment: number,
    batches: readonly AnyBatch[],
    runs: ArrayLike<number>,
    timeSlice: TimeSlice,
    hold: (bytes: number) => Promise<void> | undefined = () => undefined,
  ): Promise<void> {
    const readers = batches.map(sortReader)
    const atOnce = Math.max(1, Math.min(rowsAtOnce, Math.floor(valuesAtOnce / Math.max(1, readers.length))))
    for (let i = 0; i < runs.length; i += 2) {
      for (let start = runs[i]!; start < runs[i + 1]!; start += atOnce) {
        const end = Math.min(runs[i + 1]!, start + atOnce)
        this.#addRun(fragment, batches, readers, start, end)
        if (this.#rows.length >= Math.max(minKept, this.#wanted * 2)) await this.#cut(timeSlice)
        const waits = hold(this.#bytes)
        if (waits) await waits
        if (timeSlice.due) await timeSlice.rest()
      }
    }
  }

  /** The positions of the best rows, from the first on. */
  async sorted(timeSlice: TimeSlice): Promise<{ readonly fragments: Int32Array; readonly rows: Int32Array }> {
    const order = (await this.#order(timeSlice)).subarray(0, Math.min(this.#wanted, this.#rows.length))
    return {
      fragments: order.map((at) => this.#fragments[at]!),
      rows: order.map((at) => this.#rows[at]!),
    }
  }

  #addRun(
    fragment: number,
    batches: readonly AnyBatch[],
    readers: readonly ((row: number) => SortValue)[],
    start: number,
    end: number,
  ): void {
    const worst = this.#worst
    if (worst === undefined) {
      for (let row = start; row < end; row++) this.#push(fragment, row, readers)
      return
    }
    const bound = { bound: worst[0]!, ties: this.#keys.length > 1 }
    for (const row of candidateRows(batches[0]!, this.#keys[0]!, bound, start, end)) {
      if (this.#isBetter(row, readers, worst)) this.#push(fragment, row, readers)
    }
  }

  /** Whether a row precedes the worst one. An equal row follows it, as it was added later. */
  #isBetter(
    row: number,
    readers: readonly ((row: number) => SortValue)[],
    worst: readonly SortValue[],
  ): boolean {
    for (let k = 0; k < readers.length; k++) {
      const order = compareKey(this.#keys[k]!, readers[k]!(row), worst[k]!)
      if (order !== 0) return order < 0
    }
    return false
  }

  #push(fragment: number, row: number, readers: readonly ((row: number) => SortValue)[]): void {
    this.#fragments.push(fragment)
    this.#rows.push(row)
    this.#bytes += entryBytes
    for (let k = 0; k < readers.length; k++) {
      const value = readers[k]!(row)
      // A view would keep the whole fragment in memory.
      this.#values[k]!.push(typeof value === 'object' && value !== null ? value.slice() : value)
      this.#bytes += bytesOf(value)
    }
    if (this.#bytes > this.#maxBytes) throw tooMany(this.#maxBytes)
  }

  /** Drops all but the best rows. */
  async #cut(timeSlice: TimeSlice): Promise<void> {
    if (this.#rows.length <= this.#wanted) return
    // The remaining rows keep their order, which decides between equal ones.
    const kept = (await this.#order(timeSlice)).subarray(0, this.#wanted)
    const last = kept.at(-1)
    this.#worst = last === undefined ? undefined : this.#values.map((values) => values[last]!)
    kept.sort()
    this.#fragments = Array.from(kept, (at) => this.#fragments[at]!)
    this.#rows = Array.from(kept, (at) => this.#rows[at]!)
    for (const [k, values] of this.#values.entries()) {
      this.#values[k] = Array.from(kept, (at) => values[at]!)
      if (timeSlice.due) await timeSlice.rest()
    }
    this.#bytes = 0
    for (const values of this.#values) {
      for (const value of values) this.#bytes += bytesOf(value)
    }
    this.#bytes += kept.length * entryBytes
  }

  /** The positions of all rows in order: sorted in pieces, which are then merged. */
  async #order(timeSlice: TimeSlice): Promise<Int32Array> {
    const { length } = this.#rows
    const keys = this.#keys
    const values = this.#values
    const compare = (a: number, b: number): number => {
      for (let k = 0; k < keys.length; k++) {
        const order = compareKey(keys[k]!, values[k]![a]!, values[k]![b]!)
        if (order !== 0) return order
      }
      return a - b
    }
    // Comparing texts takes time in proportion to their common prefix.
    const cost = keys.length + this.#bytes / Math.max(1, length) / 256
    return sortedRows(length, compare, cost, timeSlice)
  }
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
