import type { DataType } from '@uwdata/flechette'
import { type CatalogError, invalid } from '../../../base/errors.ts'
import {
  type AnyBatch,
  type AnyColumn,
  type BatchParts,
  emptyBytes,
  makeBatch,
  type Offsets,
  type Values,
} from '../batch.ts'
import {
  bufferNamesOf,
  childFields,
  hasValidity,
  layoutOf,
  type OffsetsConstructor,
  type ValuesConstructor,
} from '../layout.ts'
import { nullBatch } from '../null-batch.ts'
import type { BatchHeader } from './message.ts'

/** Dictionaries by id, which reading the body of a record batch needs. */
export interface BodyContext {
  readonly dictionary: (id: number) => AnyColumn | undefined
}

/** The uncompressed body of a message, or its buffers; a buffer outside of the body is undefined. */
export type Body = Uint8Array | readonly (Uint8Array | undefined)[]

/** The position of a column in a message's metadata: how many nodes, buffers and variadic counts precede it. */
export interface ColumnCursor {
  readonly node: number
  readonly buffer: number
  readonly variadic: number
}

const firstColumn: ColumnCursor = { node: 0, buffer: 0, variadic: 0 }

/** The cursor of every column of a message. */
export function columnCursors(header: BatchHeader, types: readonly DataType[]): ColumnCursor[] {
  const reader = new BodyReader(header, emptyBytes, { dictionary: () => undefined })
  return types.map((type) => {
    const { cursor } = reader
    reader.skip(type)
    return cursor
  })
}

/** Int32Array indices cannot address more rows. */
const maxLength = 2 ** 31 - 1

/**
 * Creates batches over the body of a RecordBatch message, column by column in schema order. Buffers are views of the
 * body, or copies when not aligned. The reader checks sizes: no batch has a buffer that is too short for its length.
 * `validateBatch` checks the contents of the buffers.
 */
export class BodyReader {
  readonly #header: BatchHeader
  readonly #body: Body
  readonly #base: number
  readonly #context: BodyContext
  #node: number
  #buffer: number
  #variadic: number

  /**
   * `body` is the message's body from byte `base` on, or its separate buffers. `cursor` is that of the first column.
   */
  constructor(header: BatchHeader, body: Body, context: BodyContext, base = 0, cursor = firstColumn) {
    this.#header = header
    this.#body = body
    this.#base = base
    this.#context = context
    this.#node = cursor.node
    this.#buffer = cursor.buffer
    this.#variadic = cursor.variadic
  }

  /** The position of the next column. */
  get cursor(): ColumnCursor {
    return { node: this.#node, buffer: this.#buffer, variadic: this.#variadic }
  }

  /** Skips one column. Returns the part of the body that the column takes. */
  skip(type: DataType): { start: number; end: number } {
    const first = this.#buffer
    this.#skip(type)
    const { buffers } = this.#header
    const start = buffers[first]
    const last = buffers[this.#buffer - 1]
    if (start === undefined || last === undefined || this.#buffer === first) return { start: 0, end: 0 }
    return { start: start.offset, end: last.offset + last.length }
  }

  #skip(type: DataType): void {
    const layout = layoutOf(type)
    this.#node++
    this.#buffer += bufferNamesOf(layout).length
    if (layout.kind === 'views') this.#buffer += this.#header.variadic[this.#variadic++] ?? 0
    if (layout.kind === 'union' && this.#header.unionsHaveValidity) this.#buffer++
    for (const field of childFields(type)) this.#skip(field.type)
  }

  /** The next column. `column` is its name in errors. */
  read(type: DataType, column: string): AnyBatch {
    const node = this.#header.nodes[this.#node++]
    if (node === undefined) throw damaged(column, 'is missing from a record batch')
    const { length, nullCount } = node
    if (length < 0 || length > maxLength) throw damaged(column, `claims to have ${length} rows`)
    if (nullCount < 0 || nullCount > length)
      throw damaged(column, `claims ${nullCount} nulls in ${length} rows`)
    return makeBatch(type, { length, ...this.#parts(type, length, nullCount, column) })
  }

  #parts(type: DataType, length: number, nullCount: number, column: string): Omit<BatchParts, 'length'> {
    const layout = layoutOf(type)
    const nulls = hasValidity(layout) ? this.#validity(length, nullCount, column) : undefined
    // Some writers omit the values of a column of nulls only.
    const mayMiss = nullCount === length
    switch (layout.kind) {
      case 'null':
        return { nullCount: length }
      case 'bits':
        return { ...nulls, values: this.#typed(Uint8Array, Math.ceil(length / 8), column, 'values', mayMiss) }
      case 'fixed': {
        const count = (length * layout.bytes) / layout.array.BYTES_PER_ELEMENT
        return { ...nulls, values: this.#typed(layout.array, count, column, 'values', mayMiss) }
      }
      case 'dictionary': {
        const values = this.#typed(layout.array, length, column, 'indices', mayMiss)
        const dictionary = type.typeId === -1 ? this.#context.dictionary(type.id) : undefined
        if (dictionary === undefined)
          throw damaged(column, 'refers to a dictionary that did not come before it')
        return { ...nulls, values, dictionary }
      }
      case 'bytes': {
        const offsets = this.#offsets(layout.offsets, length, column)
        return { ...nulls, offsets, values: this.#bytes(column) }
      }
      case 'views': {
        const values = this.#typed(Uint8Array, length * 16, column, 'views')
        const count = this.#header.variadic[this.#variadic++]
        if (count === undefined || count < 0 || count > this.#header.buffers.length) {
          throw damaged(column, 'does not say how many data buffers it has')
        }
        return { ...nulls, values, data: Array.from({ length: count }, () => this.#bytes(column)) }
      }
      case 'list': {
        const offsets = this.#offsets(layout.offsets, length, column)
        return { ...nulls, offsets, children: this.#children(type, column) }
      }
      case 'listView': {
        const offsets = this.#typed(layout.offsets, length, column, 'offsets') as Offsets
        const sizes = this.#typed(layout.offsets, length, column, 'sizes') as Offsets
        return { ...nulls, offsets, sizes, children: this.#children(type, column) }
      }
      case 'struct':
        return { ...nulls, children: this.#children(type, column, length) }
      case 'fixedList': {
        // apache-arrow writes no values at all for a column of nulls only.
        const children = this.#children(type, column, mayMiss ? 0 : length * layout.stride)
        return { ...nulls, children: withNulls(type, children, length * layout.stride) }
      }
      case 'runEnds':
        return { children: this.#children(type, column) }
      case 'union': {
        if (this.#header.unionsHaveValidity) this.#bytes(column)
        const typeIds = this.#typed(Int8Array, length, column, 'type ids') as Int8Array
        if (!layout.dense) return { typeIds, children: this.#children(type, column, length) }
        const offsets = this.#typed(Int32Array, length, column, 'offsets') as Int32Array
        return { typeIds, offsets, children: this.#children(type, column) }
      }
    }
  }

  #children(type: DataType, column: string, atLeast = 0): AnyBatch[] {
    return childFields(type).map((field) => {
      const name = `${column}.${field.name}`
      const child = this.read(field.type, name)
      if (child.length < atLeast) throw damaged(name, `has ${child.length} rows where ${atLeast} are needed`)
      return child
    })
  }

  #validity(length: number, nullCount: number, column: string): { nullCount: number; validity: Uint8Array } {
    const bytes = this.#bytes(column)
    const needed = Math.ceil(length / 8)
    if (bytes.length >= needed)
      return { nullCount, validity: bytes.length === 0 ? emptyBytes : bytes.subarray(0, needed) }
    if (bytes.length > 0)
      throw damaged(column, `has a validity bitmap of ${bytes.length} bytes for ${length} rows`)
    if (nullCount === 0) return { nullCount, validity: emptyBytes }
    if (nullCount === length) return { nullCount, validity: new Uint8Array(needed) }
    throw damaged(column, `claims ${nullCount} nulls but has no validity bitmap`)
  }

  #offsets(array: OffsetsConstructor, length: number, column: string): Offsets {
    // An empty array may omit even its only offset.
    return this.#typed(array, length + 1, column, 'offsets', length === 0) as Offsets
  }

  #typed(array: ValuesConstructor, count: number, column: string, what: string, mayMiss = false): Values {
    const bytes = this.#bytes(column)
    const size = count * array.BYTES_PER_ELEMENT
    if (bytes.length < size) {
      if (mayMiss && bytes.length === 0 && count <= 2 ** 26) return new array(count)
      throw damaged(column, `needs ${size} bytes of ${what} and has ${bytes.length}`)
    }
    if (bytes.byteOffset % array.BYTES_PER_ELEMENT === 0) {
      return new array(bytes.buffer as ArrayBuffer, bytes.byteOffset, count)
    }
    // Not `slice`: of a Buffer, that is a view.
    return new array(new Uint8Array(bytes.subarray(0, size)).buffer, 0, count)
  }

  #bytes(column: string): Uint8Array {
    const index = this.#buffer++
    const region = this.#header.buffers[index]
    if (region === undefined) throw damaged(column, 'lacks a buffer')
    const start = region.offset - this.#base
    if (region.length === 0) return emptyBytes
    const body = this.#body
    const end = start + region.length
    const isWithin = body instanceof Uint8Array && start >= 0 && start <= end && end <= body.length
    const bytes = body instanceof Uint8Array ? isWithin && body.subarray(start, end) : body[index]
    if (!bytes) throw damaged(column, 'has a buffer that lies outside of its record batch')
    return bytes
  }
}

/** The values of lists of fixed size. If the writer omitted them, all are null. */
function withNulls(type: DataType, [values]: readonly AnyBatch[], length: number): AnyBatch[] {
  if (values!.length >= length) return [values!]
  return [nullBatch(childFields(type)[0]!.type, length)]
}

/** The error for data in which one column is damaged. */
export function damaged(column: string, fact: string, options?: { cause?: unknown }): CatalogError {
  return invalid(
    `The Arrow data is damaged: column ${JSON.stringify(column)} ${fact}. Write and send it again.`,
    options,
  )
}
