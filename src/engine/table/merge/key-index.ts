import type { TimeSlice } from '../../../base/scheduling/time-slice.ts'
import { finished, mixed } from '../format/hash.ts'
import type { KeyValues } from './key-values.ts'

/** The key of each row: the values of one or several columns. */
export type Keys = readonly KeyValues[]

/** Finds the first row of a key. Keys with a null in them are equal to no other. */
interface KeyLookup {
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

/** Table slots per row, and the slots that a table may have for any number of rows. */
const slotsPerRow = 8
const morePerRow = 32
const fewSlots = 1 << 22

/** Beyond this, numbers are not exact. Larger integers are found by their hashes. */
const tooLarge = 2 ** 52

type Words = KeyValues & { readonly kind: 'words' }

/**
 * Finds rows by integers in a small range, which most ids are: in a table with a slot for each integer from the least
 * to the greatest. That takes a fifth of the time of hashes. Undefined for other keys.
 */
export function denseKeys(keys: Keys, rows: number): KeyLookup | undefined {
  const [own] = keys
  if (keys.length !== 1 || own?.kind !== 'words' || own.width > 2) return undefined
  const bounds = boundsOf(own, rows)
  if (bounds === undefined) return undefined
  const size = bounds.max - bounds.min + 1
  const most = Math.max(rows * slotsPerRow, Math.min(rows * morePerRow, fewSlots))
  return size <= most ? new DenseKeys(own, bounds.min, size) : undefined
}

function boundsOf(keys: Words, rows: number): { readonly min: number; readonly max: number } | undefined {
  const { words, width } = keys
  const signed = signedOf(words)
  let min = Number.POSITIVE_INFINITY
  let max = Number.NEGATIVE_INFINITY
  for (let row = 0; row < rows; row++) {
    if (!isPresent(keys, row)) continue
    const value = width === 1 ? signed[row]! : signed[row * 2 + 1]! * 2 ** 32 + words[row * 2]!
    if (value < min) min = value
    if (value > max) max = value
  }
  return max >= min && min > -tooLarge && max < tooLarge ? { min, max } : undefined
}

class DenseKeys implements KeyLookup {
  readonly #own: Words
  readonly #min: number
  /** The first row of each key, by the key's distance from the least one. */
  readonly #slots: Int32Array

  constructor(own: Words, min: number, size: number) {
    this.#own = own
    this.#min = min
    this.#slots = new Int32Array(size).fill(none)
  }

  add(start: number, end: number, into: Int32Array): void {
    const own = this.#own
    const slots = this.#slots
    this.#slotsOf(own, start, end, into)
    for (let row = start; row < end; row++) {
      const slot = into[row - start]!
      if (slot === none) continue
      if (slots[slot] === none) slots[slot] = row
      into[row - start] = slots[slot]!
    }
  }

  find(keys: Keys, start: number, end: number, into: Int32Array): void {
    const [given] = keys
    if (given?.kind !== 'words') throw new TypeError('keys of another type')
    const slots = this.#slots
    this.#slotsOf(given, start, end, into)
    for (let i = 0; i < end - start; i++) {
      const slot = into[i]!
      if (slot !== none) into[i] = slots[slot]!
    }
  }

  /** The slot of each key; -1 for keys outside of the range, and for nulls. */
  #slotsOf(keys: Words, start: number, end: number, into: Int32Array): void {
    const { words, width } = keys
    const { length } = this.#slots
    const signed = signedOf(words)
    const min = this.#min
    if (width === 1) {
      for (let row = start; row < end; row++) {
        const slot = signed[row]! - min
        into[row - start] = slot >= 0 && slot < length ? slot : none
      }
    } else {
      for (let row = start; row < end; row++) {
        const slot = signed[row * 2 + 1]! * 2 ** 32 + words[row * 2]! - min
        into[row - start] = slot >= 0 && slot < length ? slot : none
      }
    }
    if (keys.validity.length === 0) return
    for (let row = start; row < end; row++) if (!isPresent(keys, row)) into[row - start] = none
  }
}

/** The same bits as signed integers: then those around zero are close together. */
function signedOf({ buffer, byteOffset, length }: Uint32Array): Int32Array {
  return new Int32Array(buffer, byteOffset, length)
}

function isPresent({ validity }: Words, row: number): boolean {
  return validity.length === 0 || ((validity[row >> 3]! >> (row & 7)) & 1) === 1
}

/** Finds rows by the hashes of their keys. */
class HashedKeys implements KeyLookup {
  readonly #keys: Keys
  readonly #seed: number
  readonly #hashes: Uint32Array
  /** The first row of each key, by its hash; the number of slots is a power of two. */
  readonly #slots: Int32Array

  constructor(keys: Keys, rows: number) {
    this.#keys = keys
    // Random, so that a caller cannot choose keys with equal hashes.
    this.#seed = Math.floor(Math.random() * 2 ** 32)
    this.#hashes = new Uint32Array(rows)
    this.#slots = new Int32Array(2 ** Math.ceil(Math.log2(Math.max(2, rows) * 2))).fill(none)
  }

  add(start: number, end: number, into: Int32Array): void {
    const keys = this.#keys
    const hashes = this.#hash(keys, start, end)
    this.#hashes.set(hashes, start)
    for (let row = start; row < end; row++) {
      if (!isWhole(keys, row)) {
        into[row - start] = none
        continue
      }
      const slot = this.#slotOf(keys, row, hashes[row - start]!)
      const first = this.#slots[slot]!
      if (first === none) this.#slots[slot] = row
      into[row - start] = first === none ? row : first
    }
  }

  find(keys: Keys, start: number, end: number, into: Int32Array): void {
    const hashes = this.#hash(keys, start, end)
    for (let row = start; row < end; row++) {
      into[row - start] = isWhole(keys, row)
        ? this.#slots[this.#slotOf(keys, row, hashes[row - start]!)]!
        : none
    }
  }

  /** The slot of a key, or the empty slot for it. */
  #slotOf(keys: Keys, row: number, hash: number): number {
    const slots = this.#slots
    const known = this.#hashes
    const mask = slots.length - 1
    let slot = hash & mask
    for (;;) {
      const first = slots[slot]!
      if (first === none) return slot
      if (known[first] === hash && this.#isEqual(first, keys, row)) return slot
      slot = (slot + 1) & mask
    }
  }

  #isEqual(own: number, keys: Keys, row: number): boolean {
    for (let i = 0; i < keys.length; i++) if (!areEqual(this.#keys[i]!, own, keys[i]!, row)) return false
    return true
  }

  #hash(keys: Keys, start: number, end: number): Uint32Array {
    const hashes = new Uint32Array(end - start).fill(this.#seed)
    for (const values of keys) {
      if (values.kind === 'words') hashWords(values.words, values.width, start, hashes)
      else hashBytes(values.bytes, values.starts, values.ends, start, hashes)
    }
    for (let i = 0; i < hashes.length; i++) hashes[i] = finished(hashes[i]!)
    return hashes
  }
}

function hashWords(words: Uint32Array, width: number, start: number, hashes: Uint32Array): void {
  let at = start * width
  for (let i = 0; i < hashes.length; i++) {
    let hash = hashes[i]!
    for (let w = 0; w < width; w++) hash = mixed(hash, words[at++]!)
    hashes[i] = hash
  }
}

function hashBytes(
  bytes: Uint8Array,
  starts: Int32Array | Float64Array,
  ends: Int32Array | Float64Array,
  start: number,
  hashes: Uint32Array,
): void {
  for (let i = 0; i < hashes.length; i++) {
    const end = ends[start + i]!
    let at = starts[start + i]!
    let hash = mixed(hashes[i]!, end - at)
    for (; at + 4 <= end; at += 4) {
      const word = bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24)
      hash = mixed(hash, word)
    }
    let rest = 0
    for (; at < end; at++) rest = (rest << 8) | bytes[at]!
    hashes[i] = mixed(hash, rest)
  }
}

function areEqual(a: KeyValues, i: number, b: KeyValues, j: number): boolean {
  if (a.kind === 'words') {
    if (b.kind !== 'words') return false
    const { width } = a
    for (let w = 0; w < width; w++) if (a.words[i * width + w] !== b.words[j * width + w]) return false
    return true
  }
  if (b.kind !== 'bytes') return false
  const length = a.ends[i]! - a.starts[i]!
  if (length !== b.ends[j]! - b.starts[j]!) return false
  const from = a.starts[i]!
  const to = b.starts[j]!
  for (let k = 0; k < length; k++) if (a.bytes[from + k] !== b.bytes[to + k]) return false
  return true
}

function isWhole(keys: Keys, row: number): boolean {
  for (let i = 0; i < keys.length; i++) {
    const { validity } = keys[i]!
    if (validity.length > 0 && ((validity[row >> 3]! >> (row & 7)) & 1) === 0) return false
  }
  return true
}
