import type { DataType } from '@uwdata/flechette'
import { type AnyBatch, type BatchParts, emptyBytes, makeBatch, type Offsets, type Values } from '../batch.ts'
import { copyBits, countBits, getBit } from '../bitmap.ts'
import { childFields, layoutOf, type OffsetsConstructor, type ValuesConstructor } from '../layout.ts'
import { rowsOfRuns } from '../take/runs.ts'
import { type BodyContext, BodyReader, type ColumnCursor, damaged } from './body.ts'
import type { BatchHeader } from './message.ts'

/**
 * Fetches byte ranges of a message's body: from `runs[2i]` up to but not including `runs[2i + 1]`, relative to `start`.
 * Returns them joined in a new buffer.
 */
export type FetchRuns = (start: number, runs: ArrayLike<number>) => Promise<Uint8Array>

/**
 * Whether rows of a type can be read without the others. Other types store values in any order and are read as a whole.
 */
export function canReadRows(type: DataType): boolean {
  const { kind } = layoutOf(type)
  if (kind === 'listView' || kind === 'union' || kind === 'runEnds') return false
  return childFields(type).every((field) => canReadRows(field.type))
}

/** How many buffers hold the values of a type. Distant rows are apart in each of them. */
export function valueBuffersOf(type: DataType): number {
  const { kind } = layoutOf(type)
  const isOutside = kind === 'null' || kind === 'struct' || kind === 'fixedList'
  const own = kind === 'bytes' || kind === 'views' ? 2 : isOutside ? 0 : 1
  return childFields(type).reduce((sum, field) => sum + valueBuffersOf(field.type), own)
}

interface Nulls {
  readonly validity: Uint8Array
  readonly nullCount: number
}

/** The wanted rows of a column, or of a field within one. */
interface Part {
  readonly type: DataType
  /** Its name in errors. */
  readonly column: string
  readonly cursor: ColumnCursor
  /** How many of all its rows are null. */
  readonly nullCount: number
  readonly isNull: boolean
  readonly runs: ArrayLike<number>
  readonly length: number
}

/**
 * Reads some rows of a column: only the bytes of these rows in each buffer. Offsets are fetched first where they locate
 * the values. Requests that need nothing else first are issued in one turn of the event loop.
 */
export class RowReader {
  readonly #header: BatchHeader
  readonly #context: BodyContext
  readonly #fetch: FetchRuns

  constructor(header: BatchHeader, context: BodyContext, fetch: FetchRuns) {
    this.#header = header
    this.#context = context
    this.#fetch = fetch
  }

  /** Rows of the column at a cursor, as runs in ascending order. `column` is its name in errors. */
  async read(
    type: DataType,
    column: string,
    cursor: ColumnCursor,
    runs: ArrayLike<number>,
  ): Promise<AnyBatch> {
    const node = this.#header.nodes[cursor.node]
    if (node === undefined) throw damaged(column, 'is missing from a record batch')
    const last = runs[runs.length - 1] ?? 0
    if (last > node.length) throw damaged(column, `has ${node.length} rows where ${last} are needed`)
    const { length: rows, nullCount } = node
    const length = rowsOfRuns(runs)
    const part: Part = { type, column, cursor, nullCount, isNull: nullCount === rows, runs, length }
    const nulls = this.#nulls(part)
    const [found, values] = await Promise.all([nulls, this.#values(part, nulls)])
    return makeBatch(type, { length, ...found, ...values })
  }

  async #nulls(part: Part): Promise<Nulls> {
    const { type, column, cursor, nullCount, length } = part
    if (layoutOf(type).kind === 'null') return { validity: emptyBytes, nullCount: length }
    if (nullCount === 0) return { validity: emptyBytes, nullCount }
    if (this.#sizeOf(cursor.buffer, column) > 0) {
      const validity = await this.#bits(part, cursor.buffer)
      const found = length - countBits(validity, length)
      return { validity: found === 0 ? emptyBytes : validity, nullCount: found }
    }
    if (!part.isNull) throw damaged(column, `claims ${nullCount} nulls but has no validity bitmap`)
    return { validity: new Uint8Array(Math.ceil(length / 8)), nullCount: length }
  }

  async #values(part: Part, nulls: Promise<Nulls>): Promise<Partial<BatchParts>> {
    const { type, cursor, runs } = part
    const layout = layoutOf(type)
    switch (layout.kind) {
      case 'null':
        return {}
      case 'bits':
        return { values: await this.#bits(part, cursor.buffer + 1) }
      case 'fixed':
        return { values: await this.#typed(part, layout.array, layout.bytes) }
      case 'dictionary': {
        const dictionary = type.typeId === -1 ? this.#context.dictionary(type.id) : undefined
        if (dictionary === undefined)
          throw damaged(part.column, 'refers to a dictionary that did not come before it')
        return { values: await this.#typed(part, layout.array, layout.bytes), dictionary }
      }
      case 'bytes': {
        const { offsets, within } = await this.#offsets(part, layout.offsets)
        return { offsets, values: await this.#bytes(cursor.buffer + 2, part.column, within) }
      }
      case 'list': {
        const { offsets, within } = await this.#offsets(part, layout.offsets)
        return { offsets, children: await this.#children(part, 2, within) }
      }
      case 'views':
        return this.#views(part, await nulls)
      case 'struct':
        return { children: await this.#children(part, 1, runs) }
      case 'fixedList':
        return { children: await this.#children(part, 1, scaled(runs, layout.stride)) }
      default:
        throw new TypeError(`rows of a column of ${layout.kind} cannot be read alone`)
    }
  }

  /** The values of the child fields, whose buffers follow the given number of the parent's own buffers. */
  #children({ type, column, cursor }: Part, buffers: number, runs: ArrayLike<number>): Promise<AnyBatch[]> {
    let next: ColumnCursor = { ...cursor, node: cursor.node + 1, buffer: cursor.buffer + buffers }
    const reading = childFields(type).map((field) => {
      const own = next
      const reader = new BodyReader(this.#header, emptyBytes, this.#context, 0, own)
      reader.skip(field.type)
      next = reader.cursor
      return this.read(field.type, `${column}.${field.name}`, own, runs)
    })
    return Promise.all(reading)
  }

  async #bits({ column, isNull, runs, length }: Part, buffer: number): Promise<Uint8Array> {
    const bits = new Uint8Array(Math.ceil(length / 8))
    if (isNull && this.#sizeOf(buffer, column) === 0) return bits
    const within = Float64Array.from(runs, (row, i) => (i % 2 === 0 ? row >>> 3 : (row + 7) >>> 3))
    const bytes = await this.#bytes(buffer, column, within)
    let from = 0
    let to = 0
    for (let i = 0; i < runs.length; i += 2) {
      const count = runs[i + 1]! - runs[i]!
      copyBits(bytes, from * 8 + (runs[i]! & 7), bits, to, count)
      from += within[i + 1]! - within[i]!
      to += count
    }
    return bits
  }

  async #typed(part: Part, array: ValuesConstructor, bytesPerRow: number): Promise<Values> {
    const { column, cursor, runs, length } = part
    const count = (length * bytesPerRow) / array.BYTES_PER_ELEMENT
    if (part.isNull && this.#sizeOf(cursor.buffer + 1, column) === 0) return new array(count)
    const bytes = await this.#bytes(cursor.buffer + 1, column, scaled(runs, bytesPerRow))
    return new array(bytes.buffer as ArrayBuffer, bytes.byteOffset, count)
  }

  /** The offsets of the rows, starting at 0, and the runs of values that they refer to. */
  async #offsets({ column, cursor, runs, length }: Part, array: OffsetsConstructor) {
    const size = array.BYTES_PER_ELEMENT
    // Each run has one more offset than it has rows.
    const byteRuns = Float64Array.from(runs, (row, i) => (i % 2 === 0 ? row : row + 1) * size)
    const bytes = await this.#bytes(cursor.buffer + 1, column, byteRuns)
    const given = new array(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.length / size)
    const offsets: Offsets = new array(length + 1)
    const within: number[] = []
    let from = 0
    let row = 0
    let end = 0
    for (let i = 0; i < runs.length; i += 2) {
      const count = runs[i + 1]! - runs[i]!
      const first = Number(given[from])
      const last = Number(given[from + count])
      for (let r = from + 1; r <= from + count; r++) {
        const next = end + Number(given[r]) - first
        offsets[++row] = (size === 4 ? next : BigInt(next)) as never
      }
      end += last - first
      from += count + 1
      if (last !== first) within.push(first, last)
    }
    return { offsets, within }
  }

  async #views(
    { column, cursor, runs, length }: Part,
    { validity, nullCount }: Nulls,
  ): Promise<Partial<BatchParts>> {
    const buffers = this.#header.variadic[cursor.variadic] ?? 0
    const values = await this.#bytes(cursor.buffer + 1, column, scaled(runs, 16))
    const views = new DataView(values.buffer, values.byteOffset, values.byteLength)
    const within: number[][] = Array.from({ length: buffers }, () => [])
    const used = new Float64Array(buffers)
    const long: number[] = []
    for (let row = 0; row < length; row++) {
      const at = row * 16
      // The value range of a null row has no meaning.
      if (nullCount > 0 && !getBit(validity, row)) values.fill(0, at, at + 16)
      const size = views.getInt32(at, true)
      if (size <= 12) continue
      const data = views.getInt32(at + 8, true)
      const start = views.getInt32(at + 12, true)
      if (within[data] === undefined) throw damaged(column, `has no data buffer ${data}`)
      within[data].push(start, start + size)
      used[data]! += size
      long.push(at)
    }
    // Rows may share bytes, and a copy for each of them could take any amount of memory.
    const isWhole = within.map((_, i) => used[i]! >= this.#sizeOf(cursor.buffer + 2 + i, column))
    used.fill(0)
    for (const at of long) {
      const data = views.getInt32(at + 8, true)
      if (isWhole[data]) continue
      views.setInt32(at + 12, used[data]!, true)
      used[data]! += views.getInt32(at, true)
    }
    const data = await Promise.all(
      within.map((runs, i) => {
        const buffer = cursor.buffer + 2 + i
        const all = runs.length > 0 && isWhole[i]
        return this.#bytes(buffer, column, all ? [0, this.#sizeOf(buffer, column)] : runs)
      }),
    )
    return { values, data }
  }

  #sizeOf(buffer: number, column: string): number {
    const region = this.#header.buffers[buffer]
    if (region === undefined) throw damaged(column, 'lacks a buffer')
    return region.length
  }

  async #bytes(buffer: number, column: string, runs: ArrayLike<number>): Promise<Uint8Array> {
    const size = this.#sizeOf(buffer, column)
    for (let i = 0; i < runs.length; i += 2) {
      if (runs[i]! < 0 || runs[i + 1]! < runs[i]! || runs[i + 1]! > size)
        throw damaged(column, `has values from byte ${runs[i]} to ${runs[i + 1]} of a buffer of ${size}`)
    }
    return runs.length === 0 ? emptyBytes : this.#fetch(this.#header.buffers[buffer]!.offset, runs)
  }
}

/** Runs of bytes or items for rows of `stride` each. */
function scaled(runs: ArrayLike<number>, stride: number): Float64Array {
  return Float64Array.from(runs, (row) => row * stride)
}
