import type { TimeSlice } from '../../../base/scheduling/time-slice.ts'
import { denseKeys } from './dense-keys.ts'
import { HashedKeys } from './hashed-keys.ts'
import type { KeyValues } from './key-values.ts'

/** The key of each row: the values of one or several columns. */
export type Keys = readonly KeyValues[]

/** Finds the first row of a key. Keys with a null in them are equal to no other. */
export interface KeyLookup {
  /**
   * Adds rows from `start` to `end` of its own keys, and writes for each the first row with that key; -1 for a null.
   */
  add(start: number, end: number, into: Int32Array): void
  /**
   * Writes, for rows from `start` to `end` of other keys of the same types, the first row with that key; -1 for none.
   */
  find(keys: Keys, start: number, end: number, into: Int32Array): void
}

/** Rows between two checks of the clock. */
const sliceRows = 16_384

const none = -1

/** Finds all rows with a key. */
export class KeyIndex {
  readonly #lookup: KeyLookup
  /** For each row, the next one with the same key. */
  readonly #next: Int32Array
  /** For each row, the first one with the same key; -1 for a key with a null in it. */
  readonly #firsts: Int32Array

  private constructor(lookup: KeyLookup, rows: number) {
    this.#lookup = lookup
    this.#next = new Int32Array(rows).fill(none)
    this.#firsts = new Int32Array(rows)
  }

  static async of(keys: Keys, rows: number, timeSlice: TimeSlice): Promise<KeyIndex> {
    const index = new KeyIndex(denseKeys(keys, rows) ?? new HashedKeys(keys, rows), rows)
    const lasts = new Int32Array(rows)
    for (let start = 0; start < rows; start += sliceRows) {
      index.#add(start, Math.min(start + sliceRows, rows), lasts)
      if (timeSlice.due) await timeSlice.rest()
    }
    return index
  }

  #add(start: number, end: number, lasts: Int32Array): void {
    const firsts = this.#firsts
    this.#lookup.add(start, end, firsts.subarray(start, end))
    for (let row = start; row < end; row++) {
      const first = firsts[row]!
      if (first === none) continue
      if (first !== row) this.#next[lasts[first]!] = row
      lasts[first] = row
    }
  }

  /** The first row with the same key as `row`; -1 for a key with a null in it. */
  firstOf(row: number): number {
    return this.#firsts[row]!
  }

  /** The next row with the same key; -1 for none. */
  nextOf(row: number): number {
    return this.#next[row]!
  }

  /** For rows from `start` to `end` of other keys of the same types, the first row with that key; -1 for none. */
  find(keys: Keys, start: number, end: number, into: Int32Array): void {
    this.#lookup.find(keys, start, end, into)
  }
}
