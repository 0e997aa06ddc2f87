import { deserializeTCompactProtocol } from 'hyparquet/src/thrift.js'
import { damagedFile, guarded, unreadable } from '../damage.ts'

/** Fields of a struct by their numbers in `parquet.thrift`, such as `field_1`. */
export type Struct = Readonly<Record<`field_${number}`, unknown>>

/** The end of the bytes was reached before that of the struct. */
export class CutOff extends Error {}

const maxDepth = 32
/** Values of one struct, nested ones included. Each may take some hundred bytes of memory. */
const maxValues = 4_000_000

/**
 * The struct of Thrift's compact protocol at a place, and where it ends. Its shape is checked before the library reads
 * it: lengths, depth and the number of values are bounded by the bytes that there are. Throws `CutOff` when bytes are missing.
 */
export function readStruct(bytes: Uint8Array, at: number): { struct: Struct; end: number } {
  const end = new Skimmer(bytes, at).struct(0)
  const view = new DataView(bytes.buffer, bytes.byteOffset, end)
  const struct = guarded('has unreadable metadata', () => deserializeTCompactProtocol({ view, offset: at }))
  return { struct, end }
}

const kinds = {
  stop: 0,
  true: 1,
  false: 2,
  byte: 3,
  i16: 4,
  i32: 5,
  i64: 6,
  double: 7,
  binary: 8,
  list: 9,
  struct: 12,
}

class Skimmer {
  readonly #bytes: Uint8Array
  #at: number
  #left = maxValues

  constructor(bytes: Uint8Array, at: number) {
    this.#bytes = bytes
    this.#at = at
  }

  /** Skips a struct and returns where it ends. */
  struct(depth: number): number {
    if (depth > maxDepth) throw damagedFile(`nests metadata deeper than ${maxDepth} levels`)
    for (;;) {
      const head = this.#byte()
      const kind = head & 15
      if (kind === kinds.stop) return this.#at
      if (head >> 4 === 0) this.#varint()
      this.#value(kind, depth, false)
    }
  }

  #value(kind: number, depth: number, inList: boolean): void {
    if (--this.#left < 0)
      throw unreadable(`has metadata of more than ${maxValues.toLocaleString('en')} values`, 'Split it.')
    switch (kind) {
      case kinds.true:
      case kinds.false:
        if (inList) this.#skip(1)
        return
      case kinds.byte:
        this.#skip(1)
        return
      case kinds.i16:
      case kinds.i32:
      case kinds.i64:
        this.#varint()
        return
      case kinds.double:
        this.#skip(8)
        return
      case kinds.binary:
        this.#skip(this.#varint())
        return
      case kinds.list:
        this.#list(depth)
        return
      case kinds.struct:
        this.struct(depth + 1)
        return
      default:
        throw damagedFile('has metadata of an unknown kind')
    }
  }

  #list(depth: number): void {
    const head = this.#byte()
    const size = head >> 4 === 15 ? this.#varint() : head >> 4
    // Each item takes a byte at least.
    if (size > this.#bytes.length - this.#at) throw new CutOff()
    for (let i = 0; i < size; i++) this.#value(head & 15, depth + 1, true)
  }

  #byte(): number {
    const byte = this.#bytes[this.#at++]
    if (byte === undefined) throw new CutOff()
    return byte
  }

  #skip(count: number): void {
    this.#at += count
    if (this.#at > this.#bytes.length) throw new CutOff()
  }

  #varint(): number {
    let value = 0
    for (let i = 0; i < 10; i++) {
      const byte = this.#byte()
      value += (byte & 127) * 2 ** (7 * i)
      if (byte < 128) return value
    }
    throw damagedFile('has a number of more than 64 bits in its metadata')
  }
}

/** A list of structs in a field. */
export function structs(value: unknown): readonly Struct[] {
  if (!Array.isArray(value) || !value.every((item) => typeof item === 'object' && item !== null))
    throw new TypeError('no list of structs')
  return value
}

/** A number of the metadata that cannot be negative. */
export function natural(value: unknown): number {
  const number = Number(value)
  if (value === undefined || !Number.isSafeInteger(number) || number < 0)
    throw new TypeError('no natural number')
  return number
}

const utf8 = new TextDecoder('utf-8', { ignoreBOM: true })

/** The text of a field. */
export function textOf(value: unknown): string {
  if (!(value instanceof Uint8Array)) throw new TypeError('no text')
  return utf8.decode(value)
}
