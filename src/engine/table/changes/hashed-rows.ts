import { finished, mixed } from '../format/hash.ts'

const none = 0xffffffff

/** The 32-bit words that tell rows apart: 15 bytes of a hash, or the row itself if it has no more, and a mark. */
export const words = 4

/**
 * Rows by the hashes of their values. Several rows may have one hash. Rows are numbered in the order in which they are
 * added.
 */
export class HashedRows {
  /** How many rows were added. */
  rows = 0
  readonly #mask: number
  readonly #seed = Math.floor(Math.random() * 2 ** 32)
  /** The first row of a hash, at the slot that follows from it, or at a later one. */
  readonly #slots: Uint32Array
  readonly #hashes: Uint32Array
  /** For each row, the next one with the same hash. */
  readonly #next: Uint32Array
  /** For each row that was the first of its hash: the row to take next. */
  readonly #heads: Uint32Array

  /** Has room for so many rows. */
  constructor(capacity: number) {
    const slots = 2 ** Math.ceil(Math.log2(Math.max(16, capacity * 2)))
    this.#mask = slots - 1
    this.#slots = new Uint32Array(slots).fill(none)
    this.#hashes = new Uint32Array(capacity * words)
    this.#next = new Uint32Array(capacity)
    this.#heads = new Uint32Array(capacity)
  }

  /** The bytes of memory for so many rows. */
  static bytesFor(capacity: number): number {
    return 4 * (2 ** Math.ceil(Math.log2(Math.max(16, capacity * 2))) + capacity * (words + 2))
  }

  /** Adds a row, whose hash is at a place among others. Returns whether it is the first one with its hash. */
  add(hashes: Uint32Array, at: number): boolean {
    const slot = this.#slotOf(hashes, at)
    const row = this.rows++
    for (let i = 0; i < words; i++) this.#hashes[row * words + i] = hashes[at + i]!
    const first = this.#slots[slot]!
    if (first === none) {
      this.#slots[slot] = row
      this.#heads[row] = row
      this.#next[row] = none
      return true
    }
    this.#next[row] = this.#heads[first]!
    this.#heads[first] = row
    return false
  }

  /** Takes a row with that hash away, and returns its number; undefined if none is left. */
  take(hashes: Uint32Array, at: number): number | undefined {
    const first = this.#slots[this.#slotOf(hashes, at)]!
    if (first === none) return undefined
    const row = this.#heads[first]!
    if (row === none) return undefined
    this.#heads[first] = this.#next[row]!
    return row
  }

  /** Whether a row with that hash was added, taken or not. */
  has(hashes: Uint32Array, at: number): boolean {
    return this.#slots[this.#slotOf(hashes, at)] !== none
  }

  /** The slot of a hash: that of the first row with it, or a free one. */
  #slotOf(hashes: Uint32Array, at: number): number {
    const own = this.#hashes
    // A secret start, so that nobody can choose rows that all come to one slot.
    let hash = this.#seed
    for (let i = 0; i < words; i++) hash = mixed(hash, hashes[at + i]!)
    let slot = finished(hash) & this.#mask
    for (let row = this.#slots[slot]!; row !== none; row = this.#slots[slot]!) {
      const there = row * words
      let same = 0
      while (same < words && own[there + same] === hashes[at + same]) same++
      if (same === words) break
      slot = (slot + 1) & this.#mask
    }
    return slot
  }
}
