import { invalid } from '../../../base/errors.ts'

/**
 * Reads a FlatBuffers message one field at a time, and never reads outside of it. For any bytes, the result is a value
 * or an `InvalidInput` error.
 *
 * Format: https://flatbuffers.dev/internals/
 */
export class FlatReader {
  readonly #view: DataView
  readonly #bytes: Uint8Array
  readonly #what: string

  constructor(bytes: Uint8Array, what: string) {
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    this.#bytes = bytes
    this.#what = what
  }

  /** The table the message begins with. */
  root(): FlatTable {
    return this.table(this.offset(0))
  }

  table(position: number): FlatTable {
    const vtable = position - this.int32(position)
    const size = this.uint16(vtable)
    if (size < 4) this.damaged()
    return new FlatTable(this, position, vtable, size)
  }

  /** The target of the unsigned 32-bit offset stored at `position`. */
  offset(position: number): number {
    this.check(position, 4)
    return position + this.#view.getUint32(position, true)
  }

  int8(position: number): number {
    this.check(position, 1)
    return this.#view.getInt8(position)
  }

  int16(position: number): number {
    this.check(position, 2)
    return this.#view.getInt16(position, true)
  }

  uint16(position: number): number {
    this.check(position, 2)
    return this.#view.getUint16(position, true)
  }

  int32(position: number): number {
    this.check(position, 4)
    return this.#view.getInt32(position, true)
  }

  /** A 64-bit integer that must be a safe one. */
  int64(position: number): number {
    this.check(position, 8)
    const value = Number(this.#view.getBigInt64(position, true))
    if (!Number.isSafeInteger(value)) this.damaged()
    return value
  }

  string(position: number): string {
    const start = this.offset(position)
    const length = this.int32(start)
    this.check(start + 4, length)
    try {
      return strictUtf8.decode(this.#bytes.subarray(start + 4, start + 4 + length))
    } catch (cause) {
      throw invalid(
        `The ${this.#what} holds a name or text that is not valid UTF-8. Write it again as UTF-8.`,
        {
          cause,
        },
      )
    }
  }

  /** First element and length of the vector whose offset is stored at `position`. */
  vector(position: number, elementSize: number): { start: number; length: number } {
    const at = this.offset(position)
    const length = this.int32(at)
    this.check(at + 4, length * elementSize)
    return { start: at + 4, length }
  }

  check(position: number, length: number): void {
    if (!(position >= 0 && length >= 0 && position + length <= this.#bytes.byteLength)) this.damaged()
  }

  damaged(): never {
    throw invalid(
      `The ${this.#what} is damaged: it points outside of itself. Send the Arrow bytes again, whole.`,
    )
  }
}

const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** A table of a FlatBuffers message: fields by number, each with a value to use when it is absent. */
export class FlatTable {
  readonly reader: FlatReader
  readonly #position: number
  readonly #vtable: number
  readonly #size: number

  constructor(reader: FlatReader, position: number, vtable: number, size: number) {
    this.reader = reader
    this.#position = position
    this.#vtable = vtable
    this.#size = size
  }

  /** The position of field `index`, or 0 when it is absent. */
  at(index: number): number {
    const slot = 4 + index * 2
    if (slot + 2 > this.#size) return 0
    const offset = this.reader.uint16(this.#vtable + slot)
    return offset === 0 ? 0 : this.#position + offset
  }

  bool(index: number): boolean {
    const at = this.at(index)
    return at !== 0 && this.reader.int8(at) !== 0
  }

  int8(index: number, absent = 0): number {
    const at = this.at(index)
    return at === 0 ? absent : this.reader.int8(at)
  }

  int16(index: number, absent = 0): number {
    const at = this.at(index)
    return at === 0 ? absent : this.reader.int16(at)
  }

  int32(index: number, absent = 0): number {
    const at = this.at(index)
    return at === 0 ? absent : this.reader.int32(at)
  }

  int64(index: number, absent = 0): number {
    const at = this.at(index)
    return at === 0 ? absent : this.reader.int64(at)
  }

  string(index: number): string | undefined {
    const at = this.at(index)
    return at === 0 ? undefined : this.reader.string(at)
  }

  table(index: number): FlatTable | undefined {
    const at = this.at(index)
    return at === 0 ? undefined : this.reader.table(this.reader.offset(at))
  }

  /** The vector's tables. */
  tables(index: number): FlatTable[] {
    const at = this.at(index)
    if (at === 0) return []
    const { start, length } = this.reader.vector(at, 4)
    return Array.from({ length }, (_, i) => this.reader.table(this.reader.offset(start + i * 4)))
  }

  /** The vector's structs, read one by one at their position. */
  structs<T>(index: number, size: number, read: (position: number) => T): T[] {
    const at = this.at(index)
    if (at === 0) return []
    const { start, length } = this.reader.vector(at, size)
    return Array.from({ length }, (_, i) => read(start + i * size))
  }
}
