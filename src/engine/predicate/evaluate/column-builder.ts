import { type Field, Type } from '@uwdata/flechette'
import { invalid } from '../../../base/errors.ts'
import { type AnyBatch, byteLength, dictionaryBytes, emptyBytes, makeBatch } from '../../arrow/batch.ts'
import { type Bitmap, countBits, forEachRow } from '../../arrow/bitmap.ts'
import { widthOf } from '../../arrow/cast/cast-size.ts'
import { buildBatch } from '../../arrow/input/build.ts'
import { hasPlainNumbers, layoutOf } from '../../arrow/layout.ts'
import { assemble, wholeOf } from '../../arrow/take/take.ts'
import type { Scalar } from '../plan/plan.ts'
import type { Frame } from './frame.ts'
import { readerOf } from './read.ts'
import { bytesOf } from './scalar.ts'
import type { Vector } from './vector.ts'

/** The target rows of a slice's values: the next ones in order, or for each row the row plus `base`. */
type TargetRows = 'next' | { readonly base: number }

/** Builds a column from the values of many slices. */
interface ColumnBuilder {
  /**
   * Adds the values of some rows, until the column is full. Rows that share one long value cost nothing before they are
   * written here, so this must limit them.
   */
  add(vector: Vector, frame: Frame, need: Bitmap, targetRows: TargetRows): void
  /** Whether the values take `mostBytes`. Further values are left out. */
  readonly isFull: boolean
  /** How many values it has taken, with `next`. */
  readonly rows: number
  /** The column of `length` values. Rows without a value are null, or 0 if the column takes no nulls. */
  done(length: number): AnyBatch
}

/** Allocates at least that many bytes of zeroed memory. */
export type Allocate = (bytes: number) => ArrayBufferLike

/**
 * A builder for a column of at most `capacity` values. The column is full once its values without a fixed size take
 * `mostBytes`. The last value may exceed that.
 */
export function columnBuilder(
  field: Field,
  capacity: number,
  mostBytes: number,
  memory?: Allocate,
): ColumnBuilder {
  const { type } = field
  if (hasPlainNumbers(type)) return new FixedBuilder(field, capacity, memory)
  if (type.typeId === Type.Bool) return new BitBuilder(field, capacity)
  const layout = layoutOf(type)
  if (layout.kind === 'bytes') return new BytesBuilder(field, capacity, mostBytes)
  return new ItemBuilder(field, mostBytes)
}

/** The validity bitmap of the values. */
abstract class Validity {
  protected readonly field: Field
  readonly #bits: Uint8Array
  isFull = false
  rows = 0

  constructor(field: Field, capacity: number) {
    this.field = field
    this.#bits = new Uint8Array((capacity + 7) >>> 3)
  }

  /** Calls `write` for each value that is not null, with its target row. */
  protected each(
    frame: Frame,
    need: Bitmap,
    valid: Bitmap | null,
    targetRows: TargetRows,
    write: (row: number, targetRow: number) => void,
  ): void {
    const bits = this.#bits
    let at = this.rows
    const base = targetRows === 'next' ? -1 : targetRows.base
    forEachRow(
      need,
      (row) => {
        const targetRow = base < 0 ? at++ : base + row
        if (valid !== null && ((valid[row >>> 5]! >>> (row & 31)) & 1) === 0) return
        bits[targetRow >>> 3]! |= 1 << (targetRow & 7)
        write(row, targetRow)
      },
      frame.words,
    )
    if (base < 0) this.rows = at
  }

  protected nulls(length: number) {
    const nullCount = length - countBits(this.#bits, length)
    if (nullCount === 0 || !this.field.nullable) return { nullCount: 0, validity: emptyBytes }
    return { nullCount, validity: this.#bits.subarray(0, (length + 7) >>> 3) }
  }

  /** The first target row if all rows of the slice are needed and none is null; otherwise undefined. */
  protected takesAll(
    frame: Frame,
    need: Bitmap,
    { valid }: Vector,
    targetRows: TargetRows,
  ): number | undefined {
    const { length, words } = frame
    for (let q = 0; q < words; q++) {
      const all = q === words - 1 && (length & 31) !== 0 ? (1 << (length & 31)) - 1 : -1
      if ((need[q]! | 0) !== all || (valid !== null && ((valid[q]! & all) | 0) !== all)) return undefined
    }
    const at = targetRows === 'next' ? this.rows : targetRows.base
    if (at < 0 || (at & 7) !== 0) return undefined
    this.#bits.fill(255, at >>> 3, (at + length) >>> 3)
    if ((length & 7) !== 0) this.#bits[(at + length) >>> 3]! |= (1 << (length & 7)) - 1
    if (targetRows === 'next') this.rows += length
    return at
  }
}

class FixedBuilder extends Validity implements ColumnBuilder {
  readonly #values: Int32Array

  constructor(field: Field, capacity: number, memory: Allocate = (bytes) => new ArrayBuffer(bytes)) {
    super(field, capacity)
    const { values } = field.type as unknown as { values: typeof Int32Array }
    this.#values = new values(memory(capacity * values.BYTES_PER_ELEMENT), 0, capacity)
  }

  add(vector: Vector, frame: Frame, need: Bitmap, targetRows: TargetRows): void {
    const target = this.#values
    if (vector.kind === 'numbers' || vector.kind === 'longs') {
      const values = vector.values as Int32Array
      const at =
        values.constructor === target.constructor ? this.takesAll(frame, need, vector, targetRows) : undefined
      if (at !== undefined) target.set(values.subarray(0, frame.length), at)
      else {
        this.each(frame, need, vector.valid, targetRows, (row, targetRow) => {
          target[targetRow] = values[row]!
        })
      }
      return
    }
    const read = readerOf(vector)
    this.each(frame, need, vector.valid, targetRows, (row, targetRow) => {
      target[targetRow] = read(row) as number
    })
  }

  done(length: number): AnyBatch {
    const values = this.#values.subarray(0, length)
    return makeBatch(this.field.type, { length, values, ...this.nulls(length) })
  }
}

class BitBuilder extends Validity implements ColumnBuilder {
  readonly #values: Uint8Array

  constructor(field: Field, capacity: number) {
    super(field, capacity)
    this.#values = new Uint8Array((capacity + 7) >>> 3)
  }

  add(vector: Vector, frame: Frame, need: Bitmap, targetRows: TargetRows): void {
    const read = readerOf(vector)
    this.each(frame, need, vector.valid, targetRows, (row, targetRow) => {
      if (read(row) === true) this.#values[targetRow >>> 3]! |= 1 << (targetRow & 7)
    })
  }

  done(length: number): AnyBatch {
    const values = this.#values.subarray(0, (length + 7) >>> 3)
    return makeBatch(this.field.type, { length, values, ...this.nulls(length) })
  }
}

/** The most bytes of one column: the limit of 32-bit offsets. */
const mostOffset = 0x7fffffff

class BytesBuilder extends Validity implements ColumnBuilder {
  readonly #offsets: Int32Array
  readonly #mostBytes: number
  #bytes = Buffer.allocUnsafe(1024)
  #size = 0
  /** The number of rows whose offsets are known. */
  #known = 0

  constructor(field: Field, capacity: number, mostBytes: number) {
    super(field, capacity)
    this.#offsets = new Int32Array(capacity + 1)
    this.#mostBytes = mostBytes
  }

  add(vector: Vector, frame: Frame, need: Bitmap, targetRows: TargetRows): void {
    if (vector.kind === 'texts') {
      const { bytes, offsets } = vector
      this.each(frame, need, vector.valid, targetRows, (row, targetRow) => {
        const [start, end] = [offsets[row]!, offsets[row + 1]!]
        const at = this.#grow(targetRow, end - start)
        if (at < 0) return
        // For few bytes a call costs more than a loop.
        if (end - start > 32) this.#bytes.set(bytes.subarray(start, end), at)
        else for (let i = start; i < end; i++) this.#bytes[at + i - start] = bytes[i]!
      })
      this.#endFull()
      return
    }
    const read = readerOf(vector)
    this.each(frame, need, vector.valid, targetRows, (row, targetRow) => {
      if (this.isFull) return
      const value = read(row) as string | Uint8Array
      const length = typeof value === 'string' ? Buffer.byteLength(value) : value.length
      // Reserve first: this may replace the buffer.
      const at = this.#grow(targetRow, length)
      if (typeof value === 'string') this.#bytes.write(value, at, length)
      else this.#bytes.set(value, at)
    })
    this.#endFull()
  }

  done(length: number): AnyBatch {
    this.#fill(length)
    const { type } = this.field
    const layout = layoutOf(type)
    const narrow = this.#offsets.subarray(0, length + 1)
    const isWide = layout.kind === 'bytes' && layout.offsets === BigInt64Array
    const offsets = isWide ? BigInt64Array.from(narrow, BigInt) : narrow
    // Copied, because unused capacity would stay in memory as long as the column.
    const values = new Uint8Array(this.#bytes.subarray(0, this.#size))
    return makeBatch(type, { length, values, offsets, ...this.nulls(length) })
  }

  /** A full column ends with the value that filled it. */
  #endFull(): void {
    if (this.isFull) this.rows = this.#known
  }

  /** Reserves the bytes of a value, and returns their position; -1 once the column is full. */
  #grow(targetRow: number, bytes: number): number {
    if (this.isFull) return -1
    this.#fill(targetRow)
    const at = this.#size
    const size = at + bytes
    if (size > mostOffset) throw tooLarge(this.field)
    if (size > this.#bytes.length) {
      const grown = Buffer.allocUnsafe(Math.min(mostOffset, size * 2))
      grown.set(this.#bytes.subarray(0, at))
      this.#bytes = grown
    }
    this.#size = size
    this.isFull = size >= this.#mostBytes
    this.#offsets[targetRow + 1] = size
    this.#known = targetRow + 1
    return at
  }

  /** Adds empty values, which are null, up to `targetRow`. */
  #fill(targetRow: number): void {
    const end = this.#offsets[this.#known]!
    for (let i = this.#known + 1; i <= targetRow; i++) this.#offsets[i] = end
    this.#known = Math.max(this.#known, targetRow)
  }
}

function tooLarge({ name }: Field): Error {
  return invalid(
    `The values of ${JSON.stringify(name)} take more than ${mostOffset} bytes in the rows that are evaluated at once. Make them shorter.`,
  )
}

/** Any other layout: builds a batch for each slice, and joins them. */
class ItemBuilder implements ColumnBuilder {
  isFull = false
  rows = 0
  readonly #field: Field
  readonly #mostBytes: number
  /** A dictionary has a value once, however many rows have it. */
  readonly #isEncoded: boolean
  /** The bytes that a row takes at least. */
  readonly #width: number
  readonly #batches: AnyBatch[] = []
  #length = 0
  #bytes = 0

  constructor(field: Field, mostBytes: number) {
    this.#field = { ...field, nullable: true }
    this.#mostBytes = mostBytes
    this.#isEncoded = layoutOf(field.type).kind === 'dictionary'
    this.#width = widthOf(field.type)
  }

  add(vector: Vector, frame: Frame, need: Bitmap, targetRows: TargetRows): void {
    const read = readerOf(vector)
    const values: Scalar[] = []
    const rows: number[] = []
    // The start row of the batch: rows that are not needed precede the others.
    const start = targetRows === 'next' ? 0 : Math.max(targetRows.base, this.#length)
    if (targetRows !== 'next') this.#pad(start)
    let bytes = this.#bytes
    forEachRow(
      need,
      (row) => {
        if (bytes >= this.#mostBytes) return
        while (targetRows !== 'next' && start + values.length < targetRows.base + row) {
          values.push(null)
          rows.push(0)
        }
        const value = read(row)
        values.push(value)
        rows.push(frame.start + row)
        if (!this.#isEncoded) bytes += Math.max(this.#width, bytesOf(value))
      },
      frame.words,
    )
    // A batch without rows has bytes, too, and must not fill the column before its first row.
    if (values.length === 0) return
    this.#push(buildBatch(this.#field, { values, rows }))
    if (targetRows === 'next') this.rows += values.length
    this.isFull = Math.max(bytes, this.#bytes) >= this.#mostBytes
  }

  done(length: number): AnyBatch {
    this.#pad(length)
    const { type } = this.#field
    try {
      return assemble(type, this.#batches.map(wholeOf))
    } catch (cause) {
      if (!(cause instanceof RangeError)) throw cause
      throw tooLarge(this.#field)
    }
  }

  #pad(length: number): void {
    const missing = length - this.#length
    if (missing <= 0) return
    this.#push(
      buildBatch(this.#field, { values: new Array(missing).fill(null), rows: new Array(missing).fill(0) }),
    )
  }

  #push(batch: AnyBatch): void {
    this.#batches.push(batch)
    this.#bytes += byteLength(batch) + dictionaryBytes(batch)
    this.#length += batch.length
  }
}
