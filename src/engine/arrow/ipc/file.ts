import type { Schema } from '@uwdata/flechette'
import { invalid } from '../../../base/errors.ts'
import { FlatReader } from './flatbuffer.ts'
import { type EncapsulatedMessage, readEncapsulatedMessage } from './message.ts'
import { readSchema } from './schema.ts'

const magic = Uint8Array.of(65, 82, 82, 79, 87, 49) // ARROW1

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
