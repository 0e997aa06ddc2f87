import type { KeyLookup, Keys } from './key-index.ts'
import type { KeyValues } from './key-values.ts'

const none = -1

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
