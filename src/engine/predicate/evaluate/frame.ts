import type { AnyBatch } from '../../arrow/batch.ts'
import { type Bitmap, copyRows, noRows, setFirst, wordsFor } from '../../arrow/bitmap.ts'

/** The rows to evaluate a predicate on: one batch for each column of its schema. */
export interface Rows {
  readonly length: number
  /** By the column's index; columns that the predicate does not read may be absent. */
  readonly columns: readonly (AnyBatch | undefined)[]
}

/** Rows that are evaluated at once: few enough that masks and scratch memory stay in the processor's cache. */
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

/** The most bytes of free scratch memory that are kept for reuse. */
const maxFreeBytes = 32 << 20

/** Free scratch memory of one size, for slices of up to a certain number of rows. */
interface ScratchPool {
  /** Elements of 8 bytes in a block: the rows, those before the first one in its word, and one more. */
  readonly elements: number
  readonly bitmaps: Bitmap[]
  readonly blocks: ArrayBuffer[]
}

/** The thread's unused scratch memory, by the power of two of rows. */
const scratchPools = new Map<number, ScratchPool>()
let freeBytes = 0

function scratchPoolFor(rows: number): ScratchPool {
  const power = rows <= 32 ? 5 : 32 - Math.clz32(rows - 1)
  // A slice of 65,536 rows may begin in the middle of a word.
  const nearest = power > 5 && rows <= 2 ** (power - 1) + 31 ? power - 1 : power
  let pool = scratchPools.get(nearest)
  if (pool === undefined) {
    pool = { elements: 2 ** nearest + 32, bitmaps: [], blocks: [] }
    scratchPools.set(nearest, pool)
  }
  return pool
}

/**
 * The slice of rows being evaluated, and scratch memory for it. Scratch memory is a stack: `release` frees what was
 * taken after a `mark`. Its content is undefined when it is taken again.
 *
 * All expressions of a thread share the memory, which is as large as the slice. A frame holds it only until it is done
 * with the slice, so thousands of expressions need no more than one.
 */
export class Frame {
  rows: Rows = emptyRows
  start = 0
  length = 0
  words = 0
  #pool: ScratchPool = scratchPoolFor(0)
  readonly #bitmaps: Bitmap[] = []
  readonly #blocks: ArrayBuffer[] = []
  #bitmapsTaken = 0
  #blocksTaken = 0

  /** Switches to another slice. `start` is a multiple of 32. */
  moveTo(rows: Rows, start: number, end: number): void {
    const length = end - start
    const pool = scratchPoolFor(length)
    if (pool !== this.#pool) {
      this.done()
      this.#pool = pool
    }
    this.rows = rows
    this.start = start
    this.length = length
    this.words = wordsFor(length)
    this.#bitmapsTaken = 0
    this.#blocksTaken = 0
  }

  /** Releases all scratch memory. Vectors and bitmaps in it are invalid afterwards. */
  done(): void {
    const { bitmaps, blocks, elements } = this.#pool
    for (let last = this.#bitmaps.pop(); last !== undefined; last = this.#bitmaps.pop()) {
      if (reserveFree(elements >>> 3)) bitmaps.push(last)
    }
    for (let last = this.#blocks.pop(); last !== undefined; last = this.#blocks.pop()) {
      if (reserveFree(elements * 8)) blocks.push(last)
    }
    this.rows = emptyRows
    this.#bitmapsTaken = 0
    this.#blocksTaken = 0
  }

  bitmap(): Bitmap {
    const index = this.#bitmapsTaken++
    const known = this.#bitmaps[index]
    if (known !== undefined) return known
    const { bitmaps, elements } = this.#pool
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

  /** An array of `length` elements of at most 8 bytes. At most one element more than the slice has rows. */
  array<T extends ScratchConstructor>(type: T, length: number): InstanceType<T> {
    const index = this.#blocksTaken++
    let block = this.#blocks[index]
    if (block === undefined) {
      const { blocks, elements } = this.#pool
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

const emptyRows: Rows = { length: 0, columns: [] }

/** Whether the free memory may grow by that many bytes. */
function reserveFree(bytes: number): boolean {
  if (freeBytes + bytes > maxFreeBytes) return false
  freeBytes += bytes
  return true
}

/** Calls `holds` for each row of `need`, and writes the rows for which it is true into `out`. */
export function eachNeeded(n: number, need: Bitmap, out: Bitmap, holds: (row: number) => boolean): void {
  for (let q = 0; q << 5 < n; q++) {
    let word = 0
    for (let rest = need[q]!; rest !== 0; rest &= rest - 1) {
      const bit = rest & -rest
      if (holds((q << 5) + 31 - Math.clz32(bit))) word |= bit
    }
    out[q] = word
  }
}
