import type { Schema } from '@uwdata/flechette'
import { invalid } from '../../../base/errors.ts'
import { quote } from '../../../base/model/identifier.ts'
import { FlatReader, type FlatTable } from './flatbuffer.ts'
import { readSchema } from './schema.ts'

/** The description of a body in a RecordBatch message. */
export interface BatchHeader {
  readonly length: number
  readonly nodes: readonly { readonly length: number; readonly nullCount: number }[]
  readonly buffers: readonly { readonly offset: number; readonly length: number }[]
  readonly variadic: readonly number[]
  readonly compression: 'lz4' | 'zstd' | undefined
  /** Metadata version 4 and older: unions carry a validity bitmap. */
  readonly unionsHaveValidity: boolean
}

export type Message =
  | { readonly kind: 'schema'; readonly schema: Schema; readonly bodyLength: number }
  | { readonly kind: 'records'; readonly header: BatchHeader; readonly bodyLength: number }
  | {
      readonly kind: 'dictionary'
      readonly id: number
      readonly isDelta: boolean
      readonly header: BatchHeader
      readonly bodyLength: number
    }

/** A message with its body. */
export interface EncapsulatedMessage {
  readonly message: Message
  readonly body: Uint8Array
  readonly end: number
}

/**
 * Reads the metadata of one encapsulated message, without its length prefix.
 *
 * Format: `Message.fbs` of Apache Arrow, https://github.com/apache/arrow/blob/main/format/Message.fbs
 */
export function readMessage(metadata: Uint8Array): Message {
  const root = new FlatReader(metadata, 'metadata of an Arrow message').root()
  const version = root.int16(0)
  if (version < 3 || version > 4) {
    throw invalid(`The Arrow data has metadata version V${version + 1}. Write it with Arrow 0.8 or newer.`)
  }
  const header = root.table(2)
  const bodyLength = root.int64(3)
  if (header === undefined || bodyLength < 0) throw damagedMessage()
  switch (root.int8(1)) {
    case 1:
      return { kind: 'schema', schema: readSchema(header), bodyLength }
    case 2: {
      const data = header.table(1)
      if (data === undefined) throw damagedMessage()
      return {
        kind: 'dictionary',
        id: header.int64(0),
        isDelta: header.bool(2),
        header: readBatchHeader(data, version),
        bodyLength,
      }
    }
    case 3:
      return { kind: 'records', header: readBatchHeader(header, version), bodyLength }
    default:
      throw invalid(
        'The Arrow data holds a message that is no schema, dictionary or record batch. Send a table.',
      )
  }
}

function damagedMessage() {
  return invalid('The metadata of an Arrow message is damaged. Send the Arrow bytes again, whole.')
}

function readBatchHeader(table: FlatTable, version: number): BatchHeader {
  const { reader } = table
  const compression = table.table(3)
  if (compression && compression.int8(1) !== 0) {
    throw invalid(
      'An Arrow message is compressed as a whole. Compress its buffers one by one, or not at all.',
    )
  }
  const codec = compression?.int8(0)
  if (codec !== undefined && codec !== 0 && codec !== 1) {
    throw invalid(`An Arrow message is compressed with unknown codec ${codec}. Use LZ4_FRAME or ZSTD.`)
  }
  return {
    length: table.int64(0),
    nodes: table.structs(1, 16, (at) => ({ length: reader.int64(at), nullCount: reader.int64(at + 8) })),
    buffers: table.structs(2, 16, (at) => ({ offset: reader.int64(at), length: reader.int64(at + 8) })),
    variadic: table.structs(4, 8, (at) => reader.int64(at)),
    compression: codec === undefined ? undefined : codec === 0 ? 'lz4' : 'zstd',
    unionsHaveValidity: version < 4,
  }
}

/**
 * Reads the message at `at` with its length prefix and body. Undefined at the end-of-stream marker. Throws if the bytes
 * end before that marker: otherwise a stream that was cut off would look like a smaller table.
 */
export function readEncapsulatedMessage(bytes: Uint8Array, at: number): EncapsulatedMessage | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (at + 4 > bytes.length) throw cutOff(bytes.length)
  if (at === 0) refuseOthers(bytes)
  let length = view.getInt32(at, true)
  let start = at + 4
  // Since Arrow 0.15 a continuation marker precedes the length.
  if (length === -1) {
    if (at + 8 > bytes.length) throw cutOff(bytes.length)
    length = view.getInt32(start, true)
    start += 4
  }
  if (length === 0) return undefined
  if (length < 0)
    throw invalid(`The Arrow message at byte ${at} has a negative length. Send the bytes again, whole.`)
  if (start + length > bytes.length) throw cutOff(bytes.length)
  const message = readMessage(bytes.subarray(start, start + length))
  const end = start + length + message.bodyLength
  if (end > bytes.length) throw cutOff(bytes.length)
  return { message, body: bytes.subarray(start + length, end), end }
}

/** Refuses bytes that begin as no Arrow stream does. Else they would seem to be cut off, as text claims a huge length. */
export function refuseOthers(bytes: Uint8Array): void {
  const length = new DataView(bytes.buffer, bytes.byteOffset).getInt32(0, true)
  if (length === -1 || (length >= 0 && length < 2 ** 27)) return
  const begin = String.fromCharCode(...bytes.subarray(0, 12))
  throw invalid(
    begin.startsWith('PAR1')
      ? 'These are the bytes of a Parquet file, and no Arrow bytes. Give what readParquet of tabularium/parquet makes of them.'
      : `These are no Arrow bytes: they begin with ${quote(begin)}. Send an Arrow IPC stream or file.`,
  )
}

function cutOff(length: number) {
  return invalid(
    `The Arrow data ends in the middle, after ${length} bytes, without its end-of-stream marker. ` +
      'Send it whole, and close the writer before sending.',
  )
}

/** ARROW1, with which a file begins and ends. */
export const magic = Uint8Array.of(65, 82, 82, 79, 87, 49)

/** The location of a message in an Arrow file: its length prefix begins at `offset`. */
export interface Block {
  readonly offset: number
  readonly metadataLength: number
  readonly bodyLength: number
}

export interface Footer {
  /** Decodes the schema, which takes far longer than reading the blocks. */
  readonly schema: () => Schema
  readonly dictionaries: readonly Block[]
  readonly records: readonly Block[]
}

/** Whether the bytes begin as an Arrow IPC file does. */
export function isArrowFile(bytes: Uint8Array): boolean {
  return bytes.length >= 6 && magic.every((byte, i) => bytes[i] === byte)
}

/**
 * Reads the footer from `tail`, the last bytes of a file, which must include the whole footer.
 *
 * Format: `File.fbs` of Apache Arrow, https://github.com/apache/arrow/blob/main/format/File.fbs
 */
export function readFooter(tail: Uint8Array): Footer {
  const end = tail.length - magic.length - 4
  if (end < 8 || !magic.every((byte, i) => tail[end + 4 + i] === byte)) {
    throw invalid('The Arrow file does not end as one should; it may have been cut off. Send it whole.')
  }
  const length = new DataView(tail.buffer, tail.byteOffset, tail.byteLength).getInt32(end, true)
  if (length <= 0 || length > end) {
    throw invalid('The Arrow file has a footer of impossible length. Send the file again, whole.')
  }
  const reader = new FlatReader(tail.subarray(end - length, end), 'footer of the Arrow file')
  const root = reader.root()
  const schema = root.table(1)
  if (schema === undefined)
    throw invalid('The Arrow file has no schema in its footer. Send the file again, whole.')
  const block = (at: number): Block => ({
    offset: reader.int64(at),
    metadataLength: reader.int32(at + 8),
    bodyLength: reader.int64(at + 16),
  })
  return {
    schema: () => readSchema(schema),
    dictionaries: root.structs(2, 24, block),
    records: root.structs(3, 24, block),
  }
}

/** The message a block of the footer points at. */
export function readBlock(bytes: Uint8Array, block: Block): EncapsulatedMessage {
  const { offset } = block
  const placed = offset >= 8 && offset < bytes.length ? readEncapsulatedMessage(bytes, offset) : undefined
  if (placed === undefined || placed.message.bodyLength !== block.bodyLength) {
    throw invalid(
      `The footer of the Arrow file points at byte ${offset}, where no message is. Send it again, whole.`,
    )
  }
  return placed
}
