import type { AnyBatch } from '../../arrow/batch.ts'
import { invalid } from '../../errors.ts'
import type { TimeSlice } from '../../scheduling/time-slice.ts'
import { compareKey, promising, type SortKey, type SortValue, sortReader } from './sort-keys.ts'

/** Rows that are looked at between two looks at the clock. */
const lookEvery = 1_024

/** Rows that are kept at least before the worst are left out. */
const fewestKept = 1_024

/** Bytes of an entry beside its values. */
const entryBytes = 32

/**
 * The best rows by some keys: all that are added, or at most so many. What is kept of a row are its keys and its place,
 * and no more than twice as many rows as are wanted.
 */
export class BestRows {
  readonly #keys: readonly SortKey[]
  readonly #wanted: number
  readonly #mostBytes: number
  /** The values of the rows by key, their fragments, and their places there. */
  #values: SortValue[][]
  #fragments: number[] = []
  #rows: number[] = []
  #bytes = 0
  /** The worst of the best rows, once there are as many as are wanted: its values by key. */
  #worst: readonly SortValue[] | undefined

  constructor(keys: readonly SortKey[], wanted: number, mostBytes: number) {
    this.#keys = keys
    this.#wanted = wanted
    this.#mostBytes = mostBytes
    this.#values = keys.map(() => [])
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Adds rows of a fragment, given as runs, which come after all that were added before. */
  async add(
    fragment: number,
    batches: readonly AnyBatch[],
    runs: ArrayLike<number>,
    timeSlice: TimeSlice,
  ): Promise<void> {
    const readers = batches.map(sortReader)
    for (let i = 0; i < runs.length; i += 2) {
      for (let start = runs[i]!; start < runs[i + 1]!; start += lookEvery) {
        const end = Math.min(runs[i + 1]!, start + lookEvery)
        this.#addRun(fragment, batches, readers, start, end)
        if (this.#rows.length >= Math.max(fewestKept, this.#wanted * 2)) await this.#cut(timeSlice)
        if (timeSlice.due) await timeSlice.rest()
      }
    }
  }

  /** The places of the best rows, from the first on. */
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
    const ties = this.#keys.length > 1
    for (const row of promising(batches[0]!, this.#keys[0]!, worst[0]!, ties, start, end)) {
      if (this.#isBetter(row, readers, worst)) this.#push(fragment, row, readers)
    }
  }

  /** Whether a row comes before the worst one. One that is equal comes behind it, as it was added later. */
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
      // A part of the fragment would keep all of it.
      this.#values[k]!.push(typeof value === 'object' && value !== null ? value.slice() : value)
      this.#bytes += typeof value === 'object' && value !== null ? value.length + 96 : 16
    }
    if (this.#bytes > this.#mostBytes) throw tooMany(this.#mostBytes)
  }

  /** Leaves out what is not among the best. */
  async #cut(timeSlice: TimeSlice): Promise<void> {
    if (this.#rows.length <= this.#wanted) return
    // The rows that stay keep their order, so that equal ones can still be told apart by it.
    const kept = (await this.#order(timeSlice)).subarray(0, this.#wanted)
    const last = kept.at(-1)
    this.#worst = last === undefined ? undefined : this.#values.map((values) => values[last]!)
    kept.sort()
    this.#fragments = Array.from(kept, (at) => this.#fragments[at]!)
    this.#rows = Array.from(kept, (at) => this.#rows[at]!)
    this.#values = this.#values.map((values) => Array.from(kept, (at) => values[at]!))
    this.#bytes = 0
    for (const values of this.#values) {
      for (const value of values)
        this.#bytes += typeof value === 'object' && value !== null ? value.length + 96 : 16
    }
    this.#bytes += kept.length * entryBytes
  }

  /** The places of all rows in their order: sorted in pieces, which are then merged. */
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
    let from = new Int32Array(length)
    for (let i = 0; i < length; i++) from[i] = i
    for (let at = 0; at < length; at += pieceRows) {
      from.subarray(at, at + pieceRows).sort(compare)
      if (timeSlice.due) await timeSlice.rest()
    }
    let to = new Int32Array(length)
    for (let size = pieceRows; size < length; size *= 2) {
      for (let at = 0; at < length; at += size * 2) {
        const middle = Math.min(length, at + size)
        const end = Math.min(length, at + size * 2)
        let [left, right] = [at, middle]
        for (let next = at; next < end; next++) {
          const takesLeft = left < middle && (right >= end || compare(from[left]!, from[right]!) <= 0)
          to[next] = from[takesLeft ? left++ : right++]!
          if ((next & 8191) === 0 && timeSlice.due) await timeSlice.rest()
        }
      }
      ;[from, to] = [to, from]
    }
    return from
  }
}

/** Rows that are sorted at once. */
const pieceRows = 4_096

function tooMany(most: number): Error {
  return invalid(
    `Sorting these rows would take more than ${most.toLocaleString('en')} bytes of memory. Give a limit, or leave rows out by a filter.`,
  )
}
