import { type DataType, Type } from '@uwdata/flechette'
import { type AnyBatch, dataOf, dictionaryOf, isNullAt, typeIdsOf } from '../../arrow/batch.ts'
import { getBit } from '../../arrow/bitmap.ts'
import { layoutOf } from '../../arrow/layout.ts'

/**
 * Writes rows as bytes, such that two rows of the same types have equal bytes if and only if their values are equal.
 * It reads Arrow's buffers, so no value is rounded. NaN equals NaN, and 0 and -0 differ.
 */
export class RowBytes {
  #bytes = new Uint8Array(1024)
  #words = new Uint32Array(this.#bytes.buffer)
  #view = new DataView(this.#bytes.buffer)
  #length = 0

  /** Writes a row in place of the one before. Returns how many bytes it has. */
  write(columns: readonly (WriteValue | undefined)[], row: number): number {
    this.#length = 0
    for (const write of columns) {
      if (write === undefined) this.byte(0)
      else write(row, this)
    }
    // A hash ends the row's last words.
    if (this.#length + 8 > this.#bytes.length) this.#grow(8)
    return this.#length
  }

  /** The bytes of the row. They are valid until the next one. */
  get bytes(): Uint8Array {
    return this.#bytes.subarray(0, this.#length)
  }

  /** The same as words, with at least eight more bytes. */
  get words(): Uint32Array {
    return this.#words
  }

  byte(value: number): void {
    if (this.#length === this.#bytes.length) this.#grow(1)
    this.#bytes[this.#length++] = value
  }

  number(value: number): void {
    if (this.#length + 8 > this.#bytes.length) this.#grow(8)
    this.#view.setFloat64(this.#length, value, true)
    this.#length += 8
  }

  some(bytes: Uint8Array, start: number, end: number): void {
    const count = end - start
    if (this.#length + count > this.#bytes.length) this.#grow(count)
    if (count > 32) this.#bytes.set(bytes.subarray(start, end), this.#length)
    else for (let i = 0; i < count; i++) this.#bytes[this.#length + i] = bytes[start + i]!
    this.#length += count
  }

  #grow(more: number): void {
    // Whole words of eight bytes.
    const grown = new Uint8Array((Math.max(this.#bytes.length * 2, this.#length + more) + 7) & ~7)
    grown.set(this.#bytes)
    this.#bytes = grown
    this.#words = new Uint32Array(grown.buffer)
    this.#view = new DataView(grown.buffer)
  }
}

/** Writes the value of a column in a row. */
export type WriteValue = (row: number, into: RowBytes) => void

/** The writer of a batch's values. */
export function valueWriter(batch: AnyBatch): WriteValue {
  const write = presentWriter(batch)
  const { typeId } = batch.type
  // Their rows are null where the value is that they refer to.
  if (typeId === Type.Union || typeId === Type.RunEndEncoded || typeId === Type.Null) return write
  if (typeId === Type.Dictionary) return write
  if (batch.nullCount === 0) {
    return (row, into) => {
      into.byte(1)
      write(row, into)
    }
  }
  return (row, into) => {
    if (isNullAt(batch, row)) return into.byte(0)
    into.byte(1)
    write(row, into)
  }
}

function presentWriter(batch: AnyBatch): WriteValue {
  const layout = layoutOf(batch.type)
  switch (layout.kind) {
    case 'null':
      return (_, into) => into.byte(0)
    case 'bits': {
      const bits = batch.values as Uint8Array
      return (row, into) => into.byte(getBit(bits, row) ? 1 : 0)
    }
    case 'fixed':
      return fixedWriter(batch, layout.bytes)
    case 'bytes': {
      const { offsets } = batch
      const bytes = batch.values as Uint8Array
      return (row, into) => writeBytes(into, bytes, Number(offsets[row]), Number(offsets[row + 1]))
    }
    case 'views':
      return viewWriter(batch)
    case 'list': {
      const { offsets } = batch
      const item = valueWriter(batch.children[0]!)
      return (row, into) => writeItems(into, item, Number(offsets[row]), Number(offsets[row + 1]))
    }
    case 'listView': {
      const { offsets, sizes } = batch
      const item = valueWriter(batch.children[0]!)
      return (row, into) => {
        const start = Number(offsets[row])
        writeItems(into, item, start, start + Number(sizes[row]))
      }
    }
    case 'fixedList': {
      const { stride } = layout
      const item = valueWriter(batch.children[0]!)
      return (row, into) => writeItems(into, item, row * stride, (row + 1) * stride)
    }
    case 'struct': {
      const children = batch.children.map(valueWriter)
      return (row, into) => {
        for (const write of children) write(row, into)
      }
    }
    case 'dictionary':
      return dictionaryWriter(batch)
    case 'union':
      return unionWriter(batch, layout.dense)
    case 'runEnds':
      return runEndWriter(batch)
  }
}

function writeBytes(into: RowBytes, bytes: Uint8Array, start: number, end: number): void {
  into.number(end - start)
  into.some(bytes, start, end)
}

function writeItems(into: RowBytes, item: WriteValue, start: number, end: number): void {
  into.number(end - start)
  for (let i = start; i < end; i++) item(i, into)
}

function fixedWriter(batch: AnyBatch, width: number): WriteValue {
  const values = batch.values as Uint8Array
  const bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength)
  const { type } = batch
  // Half floats are not numbers here, so several NaNs of theirs differ.
  if (type.typeId === Type.Float && type.precision !== 0) {
    const numbers = batch.values as Float64Array
    // There are many bit patterns of NaN.
    return (row, into) => into.number(Number.isNaN(numbers[row]!) ? Number.NaN : numbers[row]!)
  }
  return (row, into) => into.some(bytes, row * width, (row + 1) * width)
}

function viewWriter(batch: AnyBatch): WriteValue {
  const values = batch.values as Uint8Array
  const view = new DataView(values.buffer, values.byteOffset, values.byteLength)
  const data = dataOf(batch)
  return (row, into) => {
    const at = row * 16
    const length = view.getInt32(at, true)
    if (length <= 12) return writeBytes(into, values, at + 4, at + 4 + length)
    const start = view.getInt32(at + 12, true)
    writeBytes(into, data[view.getInt32(at + 8, true)]!, start, start + length)
  }
}

/** Writes entries, as other fragments have other dictionaries. An entry may be null. */
function dictionaryWriter(batch: AnyBatch): WriteValue {
  const parts = dictionaryOf(batch).data as readonly AnyBatch[]
  const writers = parts.map(valueWriter)
  const indices = batch.values as Int32Array
  return (row, into) => {
    if (isNullAt(batch, row)) return into.byte(0)
    let entry = Number(indices[row])
    let part = 0
    while (entry >= parts[part]!.length) entry -= parts[part++]!.length
    writers[part]!(entry, into)
  }
}

function unionWriter(batch: AnyBatch, isDense: boolean): WriteValue {
  const { typeIds: known } = batch.type as DataType & { readonly typeIds: ArrayLike<number> }
  const typeIds = typeIdsOf(batch)
  const children = batch.children.map(valueWriter)
  const numbers = new Map(Array.from(known, (id, i) => [id, i]))
  return (row, into) => {
    const id = typeIds[row]!
    into.number(id)
    children[numbers.get(id)!]!(isDense ? Number(batch.offsets[row]) : row, into)
  }
}

function runEndWriter(batch: AnyBatch): WriteValue {
  const [ends, values] = batch.children
  const lasts = Array.from(ends!.values as Int32Array, Number)
  const write = valueWriter(values!)
  return (row, into) => {
    let low = 0
    for (let high = lasts.length; low < high; ) {
      const middle = (low + high) >>> 1
      if (lasts[middle]! <= row) low = middle + 1
      else high = middle
    }
    write(low, into)
  }
}
