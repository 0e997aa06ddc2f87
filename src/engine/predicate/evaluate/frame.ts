import type { AnyBatch } from '../../arrow/batch.ts'
import { type Bitmap, copyRows, noRows, setFirst, wordsFor } from '../../arrow/bitmap.ts'

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

/** The most bytes of scratch memory that wait to be taken again. */
const mostFree = 32 << 20

/** Scratch memory of one size, for slices of at most so many rows. */
interface Shelf {
  /** Elements of 8 bytes in a block: the rows, those before the first one's word, and one more. */
  readonly elements: number
  readonly bitmaps: Bitmap[]
  readonly blocks: ArrayBuffer[]
}

/** Scratch memory of the thread that nobody uses at the moment, by powers of two of rows. */
const shelves = new Map<number, Shelf>()
let freeBytes = 0

function shelfFor(rows: number): Shelf {
  const power = rows <= 32 ? 5 : 32 - Math.clz32(rows - 1)
  // A slice of 65,536 rows may begin amid a word.
  const nearest = power > 5 && rows <= 2 ** (power - 1) + 31 ? power - 1 : power
  let shelf = shelves.get(nearest)
  if (shelf === undefined) {
    shelf = { elements: 2 ** nearest + 32, bitmaps: [], blocks: [] }
    shelves.set(nearest, shelf)
  }
  return shelf
}

/**
 * The slice of rows being evaluated, and scratch memory for it. Scratch is taken like a stack: what was taken
 * after a `mark` is given back by `release`, and its content is undefined when taken again.
 *
 * All expressions of a thread share the memory. It is as large as the slice, and a frame has it until it is done
 * with the slice: thousands of expressions take as much as one.
 */
export class Frame {
  rows: Rows = noRowsAtAll
  start = 0
  length = 0
  words = 0
  #shelf: Shelf = shelfFor(0)
  readonly #bitmaps: Bitmap[] = []
  readonly #blocks: ArrayBuffer[] = []
  #bitmapsTaken = 0
  #blocksTaken = 0

  /** Turns to another slice. `start` is a multiple of 32. */
  moveTo(rows: Rows, start: number, end: number): void {
    const length = end - start
    const shelf = shelfFor(length)
    if (shelf !== this.#shelf) {
      this.done()
      this.#shelf = shelf
    }
    this.rows = rows
    this.start = start
    this.length = length
    this.words = wordsFor(length)
    this.#bitmapsTaken = 0
    this.#blocksTaken = 0
  }

  /** Gives all scratch memory back. Nothing that lies in it may be used any more. */
  done(): void {
    const { bitmaps, blocks, elements } = this.#shelf
    for (let last = this.#bitmaps.pop(); last !== undefined; last = this.#bitmaps.pop()) {
      if (keep(elements >>> 3)) bitmaps.push(last)
    }
    for (let last = this.#blocks.pop(); last !== undefined; last = this.#blocks.pop()) {
      if (keep(elements * 8)) blocks.push(last)
    }
    this.rows = noRowsAtAll
    this.#bitmapsTaken = 0
    this.#blocksTaken = 0
  }

  bitmap(): Bitmap {
    const index = this.#bitmapsTaken++
    const known = this.#bitmaps[index]
    if (known !== undefined) return known
    const { bitmaps, elements } = this.#shelf
    const free = bitmaps.pop()
    if (free !== undefined) freeBytes -= elements >>> 3
    const taken = free ?? noRows(elements)
    this.#bitmaps.push(taken)
    return taken
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
      const { blocks, elements } = this.#shelf
      const free = blocks.pop()
      if (free !== undefined) freeBytes -= elements * 8
      block = free ?? new ArrayBuffer(elements * 8)
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

const noRowsAtAll: Rows = { length: 0, columns: [] }

/** Whether there is room for so many bytes more that wait to be taken again. */
function keep(bytes: number): boolean {
  if (freeBytes + bytes > mostFree) return false
  freeBytes += bytes
  return true
}
