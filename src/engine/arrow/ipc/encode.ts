import { type Schema, Table, tableToIPC } from '@uwdata/flechette'
import { type AnyBatch, makeColumn } from '../batch.ts'
import { nullBatch } from '../null-batch.ts'
import { type Block, magic, readFooter } from './message.ts'
import { counter, prepareBatches } from './prepare.ts'
import { type Body, bodyOf, encodeBatch, metadataLengthOf, setInt64, writeMetadata } from './record-batch.ts'

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
  copyParts(parts, bytes, 0)
  return bytes
}

/** Copies parts one after the other, and returns where they end. */
function copyParts(parts: readonly Uint8Array[], target: Uint8Array, from: number): number {
  let at = from
  for (const part of parts) {
    target.set(part, at)
    at += part.length
  }
  return at
}

/** The marker that ends a stream of messages. */
const endLength = 8

/** A file of one batch is one part up to so many bytes of columns: to make several arrays takes longer than to copy these. */
const shortBody = 4096

/**
 * What all Arrow IPC files of a schema have in common. Whoever writes many keeps it. The schema must have no
 * dictionaries: in a file each dictionary precedes the first batch.
 */
export class FileLayout {
  /** A file with one empty batch. Its beginning and end are the same for every file with this schema. */
  readonly #template: Uint8Array
  /** The bytes before the first batch. */
  readonly head: Uint8Array
  /** The end of files, up to the list of their batches. */
  readonly #end: Uint8Array

  constructor(schema: Schema) {
    this.#template = joinParts(
      encodeArrow(
        schema,
        schema.fields.map(() => []),
      ),
    )
    this.head = this.#template.subarray(0, readFooter(this.#template).records[0]!.offset)
    this.#end = endOfFiles(this.#template)
  }

  /** How many bytes it takes. */
  get bytes(): number {
    return this.#template.length + this.#end.length
  }

  /** The file of some batches, each with one for each column. Buffers are not copied, unless they are short. */
  encode(batches: readonly (readonly AnyBatch[])[]): Uint8Array[] {
    // A file lists at least one batch.
    if (batches.length === 0) return [this.#template.slice()]
    const body = batches.length === 1 ? bodyOf(batches[0]!) : undefined
    if (body && body.length <= shortBody) return [this.#encodeShort(body)]
    const file = new FileEncoder(this)
    const parts = [file.head()]
    for (const batch of batches) parts.push(...file.batch(batch))
    return [...parts, file.end()]
  }

  #encodeShort(body: Body): Uint8Array {
    const offset = this.head.length
    const metadataLength = metadataLengthOf(body)
    const bytes = new Uint8Array(offset + metadataLength + body.length + this.#endLength(1))
    bytes.set(this.head)
    writeMetadata(body, bytes, offset)
    const end = copyParts(body.parts, bytes, offset + metadataLength)
    this.#writeEnd([{ offset, metadataLength, bodyLength: body.length }], bytes, end)
    return bytes
  }

  /** The bytes after the last batch: the footer with the position of every batch. */
  end(blocks: readonly Block[]): Uint8Array {
    const bytes = new Uint8Array(this.#endLength(blocks.length))
    this.#writeEnd(blocks, bytes, 0)
    return bytes
  }

  #endLength(blocks: number): number {
    return this.#end.length + blocks * 24 + 10
  }

  #writeEnd(blocks: readonly Block[], bytes: Uint8Array, from: number): void {
    const start = this.#end.length
    const size = start + blocks.length * 24
    bytes.set(this.#end, from)
    const view = new DataView(bytes.buffer, from)
    view.setUint32(start - 4, blocks.length, true)
    for (let i = 0; i < blocks.length; i++) {
      const { offset, metadataLength, bodyLength } = blocks[i]!
      const at = start + i * 24
      setInt64(view, at, offset)
      view.setInt32(at + 8, metadataLength, true)
      setInt64(view, at + 16, bodyLength)
    }
    view.setInt32(size, size - endLength, true)
    bytes.set(magic, from + size + 4)
  }
}

/**
 * The end of a file up to the list of its batches, which is moved to the end: the marker that ends its messages, and its
 * footer. The count of the list is its last four bytes.
 *
 * Format: `File.fbs` of Apache Arrow, and https://flatbuffers.dev/internals/
 */
function endOfFiles(file: Uint8Array): Uint8Array {
  const lengthAt = file.length - 10
  const length = new DataView(file.buffer, file.byteOffset).getInt32(lengthAt, true)
  // The length of a vector takes four bytes. Blocks begin at a multiple of eight.
  const list = ((length + 4 + 7) & ~7) - 4
  const bytes = new Uint8Array(endLength + list + 4)
  bytes.set(file.subarray(lengthAt - length - endLength, lengthAt))
  const view = new DataView(bytes.buffer, endLength)
  const root = view.getUint32(0, true)
  const table = root - view.getInt32(root, true)
  const field = root + view.getUint16(table + 4 + 3 * 2, true)
  view.setUint32(field, list - field, true)
  return bytes
}

/** Writes an Arrow IPC file batch by batch, without knowing later batches. A file lists its batches at its end. */
export class FileEncoder {
  readonly #layout: FileLayout
  readonly #blocks: Block[] = []
  #size: number

  constructor(layout: FileLayout) {
    this.#layout = layout
    this.#size = layout.head.length
  }

  /** The bytes before the first batch. */
  head(): Uint8Array {
    return this.#layout.head
  }

  /** The next batch, in parts to be written in order. Its buffers are not copied. */
  batch(columns: readonly AnyBatch[]): readonly Uint8Array[] {
    const { parts, metadataLength, bodyLength } = encodeBatch(columns)
    this.#blocks.push({ offset: this.#size, metadataLength, bodyLength })
    this.#size += metadataLength + bodyLength
    return parts
  }

  /** The bytes after the last batch: the footer with the position of every batch. */
  end(): Uint8Array {
    return this.#layout.end(this.#blocks)
  }
}
