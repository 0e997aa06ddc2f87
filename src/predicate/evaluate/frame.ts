import type { AnyBatch } from '../../arrow/batch.ts'
import { allRows, type Bitmap, copyRows, setFirst, wordsFor } from '../../arrow/bitmap.ts'

/** The rows a predicate is asked about: one batch for each column of the schema it was planned for. */
export interface Rows {
  readonly length: number
  /** By the column's index; those the predicate does not read may be left out. */
  readonly columns: readonly (AnyBatch | undefined)[]
}

/** Rows that are evaluated at once: small enough for masks and scratch to stay in the processor's cache. */
export const sliceRows = 65_536

type ScratchConstructor =
  | typeof Int8Array
  | typeof Uint8Array
  | typeof Int16Array
  | typeof Uint16Array
  | typeof Int32Array
  | typeof Uint32Array
  | typeof Float32Array
  | typeof Float64Array
  | typeof BigInt64Array
  | typeof BigUint64Array

/**
 * The slice of rows being evaluated, and scratch memory for it. Scratch is taken like a stack: what was taken
 * after a `mark` is given back by `release`, and its content is undefined when taken again.
 */
export class Frame {
  readonly #most: number
  rows: Rows = { length: 0, columns: [] }
  start = 0
  length = 0
  words = 0
  readonly #bitmaps: Bitmap[] = []
  readonly #blocks: ArrayBuffer[] = []
  #bitmapsTaken = 0
  #blocksTaken = 0

  /** For slices of at most so many rows. */
  constructor(most: number = sliceRows) {
    this.#most = most
  }

  /** Turns to another slice. `start` is a multiple of 32. */
  moveTo(rows: Rows, start: number, end: number): void {
    this.rows = rows
    this.start = start
    this.length = end - start
    this.words = wordsFor(this.length)
    this.#bitmapsTaken = 0
    this.#blocksTaken = 0
  }

  bitmap(): Bitmap {
    const index = this.#bitmapsTaken++
    const known = this.#bitmaps[index]
    if (known !== undefined) return known
    const fresh = allRows(this.#most)
    this.#bitmaps.push(fresh)
    return fresh
  }

  /** A bitmap of all the slice's rows. */
  allRows(): Bitmap {
    const bitmap = this.bitmap()
    setFirst(bitmap, this.length)
    return bitmap
  }

  /** A bitmap without rows. */
  noRows(): Bitmap {
    const bitmap = this.bitmap()
    bitmap.fill(0, 0, this.words)
    return bitmap
  }

  copyOf(rows: Bitmap): Bitmap {
    const bitmap = this.bitmap()
    copyRows(rows, bitmap, this.words)
    return bitmap
  }

  /** An array of `length` elements of at most 8 bytes: the slice's rows, and one more. */
  array<T extends ScratchConstructor>(type: T, length: number): InstanceType<T> {
    const index = this.#blocksTaken++
    let block = this.#blocks[index]
    if (block === undefined) {
      block = new ArrayBuffer((this.#most + 1) * 8)
      this.#blocks.push(block)
    }
    return new type(block, 0, length) as InstanceType<T>
  }

  mark(): number {
    return this.#bitmapsTaken * 0x10000 + this.#blocksTaken
  }

  release(mark: number): void {
    this.#bitmapsTaken = Math.floor(mark / 0x10000)
    this.#blocksTaken = mark % 0x10000
  }
}
