import { type Schema, Table } from '@uwdata/flechette'
import { CatalogError, invalid } from '../../../base/errors.ts'
import { TimeSlice } from '../../../base/scheduling/time-slice.ts'
import { type AnyBatch, type AnyColumn, makeColumn } from '../batch.ts'
import { checkColumns, schemaDifference } from '../schema.ts'
import {
  type DecodeOptions,
  decodeArrow,
  dictionaryTypes,
  type NamedType,
  readDictionary,
  readRecords,
} from './decode.ts'
import { type EncapsulatedMessage, isArrowFile, type Message, readMessage, refuseOthers } from './message.ts'
import { addSizes, checkSizes, type Sizes } from './sizes.ts'

export interface StreamDecodeOptions extends DecodeOptions {
  /** Most bytes of one message: a record batch or a dictionary. Default: 256 MiB. */
  readonly maxMessageBytes?: number | undefined
  /** Takes a file, too, that has its messages in order. What follows them is not read. */
  readonly acceptsFile?: boolean | undefined
}

/** Whoever asked for rows takes them all. */
const unlimited = { maxDecodedBytes: Number.MAX_SAFE_INTEGER, maxMessageBytes: 2 ** 31 - 1 }

/**
 * The tables of an answer with rows: an Arrow IPC file, as a whole or in parts. There is one at least, which may be
 * without rows.
 */
export async function* tablesOfAnswer(answer: Uint8Array | AsyncIterable<Uint8Array>): AsyncGenerator<Table> {
  if (answer instanceof Uint8Array) {
    yield await decodeArrow(answer, unlimited)
    return
  }
  const decoder = new StreamDecoder({ ...unlimited, acceptsFile: true })
  for await (const part of answer) yield* decoder.add(part)
  decoder.end()
}

/**
 * Decodes Arrow IPC streams whose bytes arrive in pieces. Each record batch becomes a checked table as soon as it is
 * complete, so that only one of them is in memory. After the end of a stream another one may follow, also with other
 * columns. Throws as `decodeArrow` does, and for an IPC file unless it is asked to accept one.
 */
export class StreamDecoder {
  readonly #options: StreamDecodeOptions
  readonly #maxMessage: number
  readonly #bytes = new Pieces()
  #stream: OneStream | undefined
  /** Bytes of metadata and body of the next message, once they are known. */
  #next: { readonly message: Message; readonly bodyLength: number } | undefined
  #isFirst = true
  #isFile = false

  constructor(options: StreamDecodeOptions) {
    this.#options = options
    this.#maxMessage = options.maxMessageBytes ?? 256 * 1024 * 1024
  }

  /** Adds bytes, and yields the tables that they complete. The bytes must not change afterwards. */
  async *add(piece: Uint8Array): AsyncGenerator<Table> {
    this.#bytes.add(piece)
    try {
      for (;;) {
        const message = this.#take()
        if (message === undefined) return
        const table = await this.#read(message)
        if (table) yield table
      }
    } catch (error) {
      if (error instanceof CatalogError || this.#options.signal?.aborted) throw error
      throw invalid('The Arrow data is damaged and cannot be read. Write and send it again.', {
        cause: error,
      })
    }
  }

  /** Throws unless the bytes ended with the end of a stream. */
  end(): void {
    if (this.#stream === undefined && this.#bytes.length === 0 && !this.#isFirst) return
    throw invalid(
      'The Arrow data ends in the middle, without its end-of-stream marker. Send it whole, and close the writer before the end.',
    )
  }

  /** The next message, if all its bytes are there. */
  #take(): EncapsulatedMessage | undefined {
    for (;;) {
      if (this.#next === undefined && !this.#takeMetadata()) return undefined
      if (this.#next === undefined) continue
      const { message, bodyLength } = this.#next
      if (this.#bytes.length < bodyLength) return undefined
      this.#next = undefined
      return { message, body: this.#bytes.take(bodyLength), end: 0 }
    }
  }

  /** Takes the metadata of the next message, or the marker at the end of a stream. False without enough bytes. */
  #takeMetadata(): boolean {
    const bytes = this.#bytes
    if (this.#isFile && this.#stream === undefined && !this.#isFirst) {
      bytes.take(bytes.length)
      return false
    }
    if (bytes.length < 8) return this.#takeShortEnd()
    const head = bytes.peek(8)
    if (this.#isFirst && !this.#isFile && isArrowFile(head)) {
      if (this.#options.acceptsFile) {
        bytes.take(head.length)
        this.#isFile = true
        return true
      }
      throw invalid(
        'This is an Arrow IPC file, which is read from its end. Send an Arrow IPC stream, or the bytes of the file as a whole.',
      )
    }
    if (this.#isFirst) refuseOthers(head)
    const view = new DataView(head.buffer, head.byteOffset, 8)
    // Since Arrow 0.15 a continuation marker precedes the length.
    const hasMarker = view.getInt32(0, true) === -1
    const length = view.getInt32(hasMarker ? 4 : 0, true)
    const start = hasMarker ? 8 : 4
    if (length === 0) {
      bytes.take(start)
      this.#stream = undefined
      return true
    }
    if (length < 0 || length > this.#maxMessage) throw this.#noMessage()
    if (bytes.length < start + length) return false
    bytes.take(start)
    const message = readMessage(bytes.take(length))
    this.#isFirst = false
    if (message.bodyLength > this.#maxMessage) {
      const count = (value: number) => value.toLocaleString('en')
      throw invalid(
        `A record batch of the Arrow stream takes ${count(message.bodyLength)} bytes, and ${count(this.#maxMessage)} are the most. Write smaller batches.`,
      )
    }
    this.#next = { message, bodyLength: message.bodyLength }
    return true
  }

  /** Streams before Arrow 0.15 end in four bytes of zero. */
  #takeShortEnd(): boolean {
    const bytes = this.#bytes
    if (bytes.length < 4 || this.#stream === undefined) return false
    if (bytes.peek(4).some((byte) => byte !== 0)) return false
    bytes.take(4)
    this.#stream = undefined
    return true
  }

  #noMessage(): CatalogError {
    return invalid(
      this.#isFirst
        ? 'These are no Arrow bytes: they do not begin with a schema. Send an Arrow IPC stream.'
        : 'The Arrow stream holds a message of impossible length. Write and send it again.',
    )
  }

  async #read(message: EncapsulatedMessage): Promise<Table | undefined> {
    const { kind } = message.message
    if (this.#stream === undefined) {
      if (kind !== 'schema') throw this.#noMessage()
      this.#stream = new OneStream(message.message.schema, this.#options)
      return this.#stream.empty()
    }
    if (message.message.kind === 'schema') {
      this.#stream.requireSame(message.message.schema)
      return undefined
    }
    return this.#stream.read(message)
  }
}

/** What the messages of one stream share: its columns and dictionaries. */
class OneStream {
  readonly #schema: Schema
  readonly #options: StreamDecodeOptions
  readonly #types: ReadonlyMap<number, NamedType>
  readonly #dictionaries = new Map<number, AnyColumn>()
  /** Bytes of each dictionary. */
  readonly #dictionarySizes = new Map<number, number>()
  readonly #timeSlice: TimeSlice

  constructor(schema: Schema, options: StreamDecodeOptions) {
    checkColumns(schema)
    this.#schema = schema
    this.#options = options
    this.#types = dictionaryTypes(schema.fields)
    this.#timeSlice = new TimeSlice(options.signal)
  }

  /** A table without rows, so that a stream without record batches still has columns. */
  empty(): Table {
    const { fields } = this.#schema
    return new Table(
      this.#schema,
      fields.map(({ type }) => makeColumn(type, [])),
    )
  }

  requireSame(schema: Schema): void {
    const difference = schemaDifference(this.#schema, schema)
    if (difference === undefined) return
    throw invalid(
      `The columns of the Arrow stream change in the middle: ${difference}. End the stream before another one begins.`,
    )
  }

  async read(placed: EncapsulatedMessage): Promise<Table | undefined> {
    const { message } = placed
    const context = { dictionary: (id: number) => this.#dictionaries.get(id) }
    if (message.kind === 'dictionary') {
      await this.#reserve(placed)
      await readDictionary(placed, this.#types, context, this.#dictionaries, this.#timeSlice)
      return undefined
    }
    await this.#reserve(placed)
    const columns: AnyBatch[][] = this.#schema.fields.map(() => [])
    await readRecords(placed, this.#schema.fields, context, columns, this.#timeSlice)
    return new Table(
      this.#schema,
      this.#schema.fields.map(({ type }, i) => makeColumn(type, columns[i]!)),
    )
  }

  /** Refuses a message that would take too much memory, with all dictionaries of the stream. */
  async #reserve({ message, body }: EncapsulatedMessage): Promise<void> {
    if (message.kind === 'schema') return
    const { maxDecodedBytes = 2 ** 30, reserve } = this.#options
    const sizes: Sizes = { decoded: 0, added: 0 }
    const known = message.kind === 'dictionary' ? this.#types.get(message.id) : undefined
    const columns = message.kind === 'records' ? this.#schema.fields : known ? [known] : []
    addSizes(sizes, message.header, body, columns)
    let kept = 0
    for (const [id, size] of this.#dictionarySizes) {
      const isReplaced = message.kind === 'dictionary' && message.id === id && !message.isDelta
      if (!isReplaced) kept += size
    }
    const decoded = sizes.decoded + kept
    checkSizes({ decoded, added: 0 }, Math.max(maxDecodedBytes, body.length))
    if (message.kind === 'dictionary') {
      const earlier = message.isDelta ? (this.#dictionarySizes.get(message.id) ?? 0) : 0
      this.#dictionarySizes.set(message.id, earlier + sizes.decoded)
    }
    const reserved = reserve?.(decoded + body.length)
    if (reserved) await reserved
  }
}

/** Bytes in pieces, which are joined only where they are needed together. */
class Pieces {
  length = 0
  #pieces: Uint8Array[] = []
  /** How many bytes of the first piece are taken. */
  #at = 0

  add(piece: Uint8Array): void {
    if (piece.length === 0) return
    this.#pieces.push(piece)
    this.length += piece.length
  }

  /** A copy of the first bytes, which stay. */
  peek(length: number): Uint8Array {
    const bytes = new Uint8Array(length)
    let to = 0
    let at = this.#at
    for (const piece of this.#pieces) {
      const part = piece.subarray(at, at + length - to)
      bytes.set(part, to)
      to += part.length
      if (to === length) break
      at = 0
    }
    return bytes
  }

  /** Removes and copies the first bytes. The copy is aligned, so that arrays can view it. */
  take(length: number): Uint8Array {
    const bytes = new Uint8Array(length)
    let to = 0
    let used = 0
    while (to < length) {
      const piece = this.#pieces[used]!
      const part = piece.subarray(this.#at, this.#at + length - to)
      bytes.set(part, to)
      to += part.length
      this.#at += part.length
      if (this.#at < piece.length) break
      this.#at = 0
      used++
    }
    if (used > 0) this.#pieces.splice(0, used)
    this.length -= length
    return bytes
  }
}
