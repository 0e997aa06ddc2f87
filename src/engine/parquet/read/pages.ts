import * as zlib from 'node:zlib'
import { Encodings, PageTypes } from 'hyparquet/src/constants.js'
import { damagedFile, guarded, type ReadBudget, unreadable } from '../damage.ts'
import { type Decompress, decompressorOf } from './codecs.ts'
import type { Chunk } from './footer.ts'
import { decodeHybrid, widthOf } from './hybrid.ts'
import type { SchemaNode } from './schema-tree.ts'
import type { OpenSource } from './source.ts'
import { CutOff, natural, readStruct, type Struct } from './thrift.ts'
import { decodeIndices, decodeValues, type Values } from './values.ts'

/** A page of a column: levels, where they say anything, and the values that are not null. */
export interface Page {
  /** Values with nulls. Of lists, those of empty ones too. */
  readonly count: number
  /** Undefined where all values are there. */
  readonly defs: Uint8Array | undefined
  /** Undefined where the column has no lists. */
  readonly reps: Uint8Array | undefined
  readonly values: Values
  /** The numbers of the values in `values`, if these are a dictionary. */
  readonly indices: Int32Array | undefined
  /** How many values are there. */
  readonly present: number
  /** Bytes of the budget that it holds. */
  readonly held: number
}

/** What reading the columns of a file shares. */
export interface ReadContext {
  readonly source: OpenSource
  readonly budget: ReadBudget
  /** Bytes that are read at a time, if pages are smaller. */
  readonly ahead: number
}

const maxHeader = 1 << 20

/** Reads the pages of a column in a row group, one after the other. */
export class PageReader {
  readonly #context: ReadContext
  readonly #leaf: SchemaNode
  readonly #chunk: Chunk
  #bytes: Uint8Array = new Uint8Array(0)
  /** Where `#bytes` begins in the file, and the next page in `#bytes`. */
  #start: number
  #at = 0
  #left: number
  #dictionary: Values | undefined
  #dictionaryHeld = 0
  #decompress: Decompress | undefined

  constructor(context: ReadContext, leaf: SchemaNode, chunk: Chunk) {
    this.#context = context
    this.#leaf = leaf
    this.#chunk = chunk
    this.#start = chunk.start
    this.#left = chunk.values
  }

  /** The next page with values; undefined after the last one. */
  async next(): Promise<Page | undefined> {
    while (this.#left > 0) {
      const header = await this.#header()
      const packed = await this.#take(natural(header.field_3))
      checkSum(packed, header, this.#leaf)
      this.#decompress ??= await decompressorOf(this.#chunk.codec, this.#leaf.label)
      const page = this.#page(header, packed)
      if (page === undefined) continue
      if (page.count > this.#left)
        throw damagedFile(`has more values of column ${this.#leaf.label} than it says`)
      this.#left -= page.count
      return page
    }
    this.#context.budget.release(this.#dictionaryHeld)
    this.#dictionaryHeld = 0
    return undefined
  }

  async #header(): Promise<Struct> {
    for (let size = 256; ; size *= 8) {
      const all = await this.#have(Math.min(size, maxHeader))
      try {
        const { struct, end } = readStruct(this.#bytes, this.#at)
        this.#at = end
        return struct
      } catch (cause) {
        if (!(cause instanceof CutOff)) throw cause
        if (all || size >= maxHeader)
          throw damagedFile(`has a page of column ${this.#leaf.label} that is cut off`)
      }
    }
  }

  /** Reads on until there are as many bytes after the place. True if these are the last ones. */
  async #have(count: number): Promise<boolean> {
    const from = this.#start + this.#at
    const end = this.#chunk.end
    if (this.#bytes.length - this.#at < count && this.#start + this.#bytes.length < end) {
      const size = Math.min(end - from, Math.max(count, this.#context.ahead))
      this.#bytes = await this.#context.source.read(from, from + size)
      this.#start = from
      this.#at = 0
    }
    return this.#start + this.#bytes.length >= end
  }

  async #take(count: number): Promise<Uint8Array> {
    if (this.#start + this.#at + count > this.#chunk.end)
      throw damagedFile(`has a page of column ${this.#leaf.label} that is cut off`)
    this.#context.budget.take(count, this.#leaf.label)
    await this.#have(count)
    this.#context.budget.release(count)
    this.#at += count
    return this.#bytes.subarray(this.#at - count, this.#at)
  }

  #page(header: Struct, packed: Uint8Array): Page | undefined {
    const size = natural(header.field_2)
    switch (PageTypes[natural(header.field_1)]) {
      case 'DICTIONARY_PAGE':
        this.#readDictionary(header.field_7 as Struct, this.#unpack(packed, size))
        return undefined
      case 'DATA_PAGE':
        return this.#dataPage(header.field_5 as Struct, packed, size)
      case 'DATA_PAGE_V2':
        return this.#dataPageV2(header.field_8 as Struct, packed, size)
      default:
        return undefined
    }
  }

  #unpack(packed: Uint8Array, size: number): Uint8Array {
    const { label } = this.#leaf
    this.#context.budget.take(size, label)
    this.#context.budget.release(size)
    const bytes = guarded(`has a page of column ${label} that is no ${this.#chunk.codec} data`, () =>
      this.#decompress!(packed, size),
    )
    if (bytes.length !== size) throw damagedFile(`has a page of column ${label} of another size than it says`)
    return bytes
  }

  #readDictionary(about: Struct, bytes: Uint8Array): void {
    const { label } = this.#leaf
    if (this.#dictionary !== undefined)
      throw damagedFile(`has two dictionaries of column ${label} in a row group`)
    const encoding = Encodings[natural(about.field_2)]
    if (encoding !== 'PLAIN' && encoding !== 'PLAIN_DICTIONARY')
      throw damagedFile(`has a dictionary of column ${label} in another encoding than the plain one`)
    const count = this.#reserve(natural(about.field_1), 0, bytes)
    this.#dictionaryHeld = count.held
    this.#dictionary = decodeValues(bytes, {
      leaf: this.#leaf,
      encoding: 'PLAIN',
      count: count.values,
      budget: this.#context.budget,
    })
  }

  /** Reserves memory for decoded values, before any is allocated for them. */
  #reserve(values: number, levels: number, bytes: Uint8Array): { values: number; held: number } {
    const held = bytes.length + values * 8 + levels * 2
    this.#context.budget.take(held, this.#leaf.label)
    return { values, held }
  }

  #dataPage(about: Struct, packed: Uint8Array, size: number): Page {
    const bytes = this.#unpack(packed, size)
    const count = natural(about.field_1)
    const { held } = this.#reserve(count, count, bytes)
    const { rep, def, label } = this.#leaf
    let at = 0
    const levels = (max: number, encoding: unknown): Uint8Array | undefined => {
      if (max === 0) return undefined
      if (Encodings[natural(encoding)] !== 'RLE')
        throw unreadable(`has levels of column ${label} in a deprecated encoding`, 'Write it anew.')
      if (at + 4 > bytes.length) throw damagedFile(`has a page of column ${label} that is cut off`)
      const length = new DataView(bytes.buffer, bytes.byteOffset + at, 4).getUint32(0, true)
      at += 4
      if (at + length > bytes.length) throw damagedFile(`has a page of column ${label} that is cut off`)
      at += length
      return this.#levels(bytes.subarray(at - length, at), max, count)
    }
    const reps = levels(rep, about.field_4)
    const defs = levels(def, about.field_3)
    return this.#decoded({ count, reps, defs, held }, bytes.subarray(at), about.field_2)
  }

  #dataPageV2(about: Struct, packed: Uint8Array, size: number): Page {
    const count = natural(about.field_1)
    const [defBytes, repBytes] = [natural(about.field_5), natural(about.field_6)]
    const { rep, def, label } = this.#leaf
    if (defBytes + repBytes > Math.min(size, packed.length))
      throw damagedFile(`has a page of column ${label} that is cut off`)
    const { held } = this.#reserve(count, count, packed)
    const reps = rep === 0 ? undefined : this.#levels(packed.subarray(0, repBytes), rep, count)
    const defs =
      def === 0 ? undefined : this.#levels(packed.subarray(repBytes, repBytes + defBytes), def, count)
    const rest = packed.subarray(repBytes + defBytes)
    const length = size - repBytes - defBytes
    const bytes = about.field_7 === false || length === 0 ? rest : this.#unpack(rest, length)
    return this.#decoded({ count, reps, defs, held }, bytes, about.field_4)
  }

  #levels(bytes: Uint8Array, max: number, count: number): Uint8Array {
    const levels = new Uint8Array(count)
    decodeHybrid(bytes, 0, bytes.length, widthOf(max), levels)
    for (let i = 0; i < count; i++)
      if (levels[i]! > max) throw damagedFile(`has a level of column ${this.#leaf.label} above ${max}`)
    return levels
  }

  #decoded(
    { count, reps, defs, held }: Pick<Page, 'count' | 'reps' | 'defs' | 'held'>,
    bytes: Uint8Array,
    encodingNumber: unknown,
  ): Page {
    const { def } = this.#leaf
    let present = count
    if (defs !== undefined) {
      present = 0
      for (let i = 0; i < count; i++) if (defs[i] === def) present++
    }
    const number = natural(encodingNumber)
    const encoding = Encodings[number] ?? `number ${number}`
    const coding = { leaf: this.#leaf, encoding, count: present, budget: this.#context.budget }
    const common = {
      count,
      reps,
      defs: present === count && reps === undefined ? undefined : defs,
      present,
      held,
    }
    if (encoding !== 'RLE_DICTIONARY' && encoding !== 'PLAIN_DICTIONARY')
      return { ...common, values: decodeValues(bytes, coding), indices: undefined }
    const values =
      this.#dictionary ?? (present === 0 ? decodeValues(bytes, { ...coding, encoding: 'PLAIN' }) : undefined)
    if (values === undefined)
      throw damagedFile(`lacks the dictionary of column ${this.#leaf.label} in a row group`)
    const entries =
      values.kind === 'words'
        ? values.length
        : values.kind === 'bytes'
          ? values.starts.length
          : values.bits.length
    return { ...common, values, indices: decodeIndices(bytes, coding, entries) }
  }
}

function checkSum(packed: Uint8Array, header: Struct, { label }: SchemaNode): void {
  if (header.field_4 === undefined || typeof zlib.crc32 !== 'function') return
  if (zlib.crc32(packed) !== Number(header.field_4) >>> 0)
    throw damagedFile(`has a page of column ${label} that does not match its checksum`)
}
