import type { KeyLookup, Keys } from './key-index.ts'
import type { KeyValues } from './key-values.ts'

const none = -1

/** Finds rows by the hashes of their keys. */
export class HashedKeys implements KeyLookup {
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

/** A step of MurmurHash3. */
function mixed(hash: number, word: number): number {
  let k = Math.imul(word, 0xcc9e2d51)
  k = Math.imul((k << 15) | (k >>> 17), 0x1b873593)
  const h = hash ^ k
  return (Math.imul((h << 13) | (h >>> 19), 5) + 0xe6546b64) >>> 0
}

/** The last step of MurmurHash3. */
function finished(hash: number): number {
  let h = hash ^ (hash >>> 16)
  h = Math.imul(h, 0x85ebca6b)
  h ^= h >>> 13
  h = Math.imul(h, 0xc2b2ae35)
  return (h ^ (h >>> 16)) >>> 0
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
