import { type Schema, Table, tableToIPC } from '@uwdata/flechette'
import { type AnyBatch, makeColumn } from '../batch.ts'
import { nullBatch } from '../null-batch.ts'
import { type Block, readFooter } from './message.ts'
import { counter, prepareBatches } from './prepare.ts'

/**
 * The table as an Arrow IPC file or stream, in parts to be written in order. Buffers are not copied, and begin at
 * multiples of 8 bytes. `columns` has the batches of each column, cut at the same rows.
 */
export function encodeArrow(
  schema: Schema,
  columns: readonly (readonly AnyBatch[])[],
  format: 'file' | 'stream' = 'file',
): Uint8Array[] {
  const nextId = counter()
  const prepared = columns.map((batches, i) => {
    const { type } = schema.fields[i]!
    // arrow-rs only reads a file whose footer lists at least one batch.
    return prepareBatches(
      type,
      batches.length > 0 || format !== 'file' ? batches : [nullBatch(type, 0)],
      nextId,
    )
  })
  const fields = schema.fields.map((field, i) => ({ ...field, type: prepared[i]!.type }))
  const table = new Table(
    { ...schema, fields },
    prepared.map(({ type, batches }) => makeColumn(type, batches)),
  )
  const sink = new PartSink()
  tableToIPC(table, { format, sink } as Parameters<typeof tableToIPC>[1])
  return sink.parts
}

/** Collects the parts that flechette's encoder writes. */
class PartSink {
  readonly parts: Uint8Array[] = []

  write(bytes: Uint8Array): void {
    if (bytes.length > 0) this.parts.push(bytes)
  }

  pad(count: number): void {
    this.write(new Uint8Array(count))
  }

  finish(): null {
    return null
  }
}

/** Joins parts to one array. */
export function joinParts(parts: readonly Uint8Array[]): Uint8Array {
  if (parts.length === 1) return parts[0]!
  let size = 0
  for (const part of parts) size += part.length
  const bytes = new Uint8Array(size)
  let at = 0
  for (const part of parts) {
    bytes.set(part, at)
    at += part.length
  }
  return bytes
}

/** The marker that ends a stream of messages. */
const endLength = 8

/**
 * Writes an Arrow IPC file batch by batch, without knowing later batches. A file lists its batches at its end. The
 * schema must have no dictionaries: in a file each dictionary precedes the first batch.
 */
export class FileEncoder {
  readonly #schema: Schema
  /** A file with one empty batch. Its beginning and end are the same for every file with this schema. */
  readonly #template: Uint8Array
  readonly #blocks: Block[] = []
  readonly #headLength: number
  #size: number

  constructor(schema: Schema) {
    this.#schema = schema
    this.#template = joinParts(
      encodeArrow(
        schema,
        schema.fields.map(() => []),
      ),
    )
    this.#headLength = readFooter(this.#template).records[0]!.offset
    this.#size = this.#headLength
  }

  /** The bytes before the first batch. */
  head(): Uint8Array {
    return this.#template.subarray(0, this.#headLength)
  }

  /** The next batch, in parts to be written in order. Its buffers are not copied. */
  batch(columns: readonly AnyBatch[]): Uint8Array[] {
    const parts = encodeArrow(
      this.#schema,
      columns.map((batch) => [batch]),
      'stream',
    )
    // The schema precedes it as in the file, except for the eight bytes at the file's beginning.
    const message = withoutEnd(withoutBeginning(parts, this.#headLength - 8))
    const size = message.reduce((sum, { length }) => sum + length, 0)
    const [first] = message as [Uint8Array]
    const metadataLength = 8 + new DataView(first.buffer, first.byteOffset).getInt32(4, true)
    this.#blocks.push({ offset: this.#size, metadataLength, bodyLength: size - metadataLength })
    this.#size += size
    return message
  }

  /** The bytes after the last batch: the footer with the position of every batch. */
  end(): Uint8Array {
    const template = this.#template
    const lengthAt = template.length - 10
    const view = new DataView(template.buffer, template.byteOffset, template.byteLength)
    const footerAt = lengthAt - view.getInt32(lengthAt, true)
    const footer = withBlocks(template.subarray(footerAt, lengthAt), this.#blocks)
    const tail = new Uint8Array(endLength + footer.length + 10)
    tail.set(template.subarray(footerAt - endLength, footerAt))
    tail.set(footer, endLength)
    new DataView(tail.buffer).setInt32(endLength + footer.length, footer.length, true)
    tail.set(template.subarray(-6), tail.length - 6)
    return tail
  }
}

/**
 * The footer with other record batch blocks. They are appended, and the field with their offset is changed.
 *
 * Format: `File.fbs` of Apache Arrow, and https://flatbuffers.dev/internals/
 */
function withBlocks(footer: Uint8Array, blocks: readonly Block[]): Uint8Array {
  // The length of a vector takes four bytes. Blocks begin at a multiple of eight.
  const at = ((footer.length + 4 + 7) & ~7) - 4
  const bytes = new Uint8Array(at + 4 + blocks.length * 24)
  bytes.set(footer)
  const view = new DataView(bytes.buffer)
  const root = view.getUint32(0, true)
  const table = root - view.getInt32(root, true)
  const field = root + view.getUint16(table + 4 + 3 * 2, true)
  view.setUint32(field, at - field, true)
  view.setUint32(at, blocks.length, true)
  for (const [i, { offset, metadataLength, bodyLength }] of blocks.entries()) {
    const block = at + 4 + i * 24
    view.setBigInt64(block, BigInt(offset), true)
    view.setInt32(block + 8, metadataLength, true)
    view.setBigInt64(block + 16, BigInt(bodyLength), true)
  }
  return bytes
}

function withoutBeginning(parts: readonly Uint8Array[], length: number): Uint8Array[] {
  let left = length
  const rest: Uint8Array[] = []
  for (const part of parts) {
    if (left >= part.length) left -= part.length
    else {
      rest.push(part.subarray(left))
      left = 0
    }
  }
  return rest
}

function withoutEnd(parts: Uint8Array[]): Uint8Array[] {
  const last = parts.pop()!
  if (last.length > endLength) parts.push(last.subarray(0, last.length - endLength))
  return parts
}
