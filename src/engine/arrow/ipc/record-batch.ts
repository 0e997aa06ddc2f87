import { type AnyBatch, dataOf } from '../batch.ts'
import { bufferNamesOf, childFields, layoutOf } from '../layout.ts'

/** A message of a stream or file in parts, to be written in order. Buffers are not copied. */
export interface EncodedMessage {
  readonly parts: readonly Uint8Array[]
  /** Bytes before the body: those of the marker, the length and the metadata. */
  readonly metadataLength: number
  readonly bodyLength: number
}

/** The body of a RecordBatch message, and what the message says of it. Pairs lie one after the other. */
export interface Body {
  readonly rows: number
  /** The length and the number of nulls of each batch, nested ones included. */
  readonly nodes: number[]
  /** The offset and the length of each buffer. */
  readonly regions: number[]
  /** How many buffers of long values each view has. */
  readonly variadic: number[]
  readonly parts: Uint8Array[]
  length: number
}

/**
 * The body of one batch for each column. Columns with a dictionary anywhere in them are not for this function: their
 * dictionaries have messages of their own.
 */
export function bodyOf(columns: readonly AnyBatch[]): Body {
  const rows = columns[0]?.length ?? 0
  const body: Body = { rows, nodes: [], regions: [], variadic: [], parts: [], length: 0 }
  for (const batch of columns) addBatch(body, batch)
  return body
}

/** The message of one batch for each column. */
export function encodeBatch(columns: readonly AnyBatch[]): EncodedMessage {
  const body = bodyOf(columns)
  const metadata = new Uint8Array(metadataLengthOf(body))
  writeMetadata(body, metadata, 0)
  return {
    parts: [metadata, ...body.parts],
    metadataLength: metadata.length,
    bodyLength: body.length,
  }
}

function addBatch(body: Body, batch: AnyBatch): void {
  const layout = layoutOf(batch.type)
  body.nodes.push(batch.length, batch.nullCount)
  for (const name of bufferNamesOf(layout)) addBuffer(body, bufferOf(batch, name))
  if (layout.kind === 'views') {
    const data = dataOf(batch)
    body.variadic.push(data.length)
    for (const bytes of data) addBuffer(body, bytes)
  }
  const { length } = childFields(batch.type)
  for (let i = 0; i < length; i++) addBatch(body, batch.children[i]!)
}

function bufferOf(batch: AnyBatch, name: string): ArrayBufferView {
  return (batch as unknown as Record<string, ArrayBufferView>)[name]!
}

const paddings = Array.from({ length: 8 }, (_, length) => new Uint8Array(length))

function addBuffer(body: Body, view: ArrayBufferView): void {
  const { byteLength } = view
  body.regions.push(body.length, byteLength)
  if (byteLength === 0) return
  const isBytes = view.constructor === Uint8Array
  body.parts.push(isBytes ? (view as Uint8Array) : new Uint8Array(view.buffer, view.byteOffset, byteLength))
  const rest = -byteLength & 7
  if (rest > 0) body.parts.push(paddings[rest]!)
  body.length += byteLength + rest
}

/*
 * The tables of a message have fixed places, and its vectors follow them. `Message.fbs` of Apache Arrow has the fields,
 * https://flatbuffers.dev/internals/ the form.
 */

/** A marker, and the length of what follows. */
const prefixLength = 8
const messageFields = 4
const messageTable = 24
const batchFields = 48
const batchTable = 64
/** Where the table of fields says where the counts of long values are. */
const variadicPlace = 12
/** The count of the first vector lies before its items, which begin at a multiple of eight. */
const firstVector = 92

/** All before the vectors, with the fields that are alike in all messages. */
const template = fixedPart()

function fixedPart(): Uint8Array {
  const bytes = new Uint8Array(prefixLength + firstVector)
  const view = new DataView(bytes.buffer, prefixLength)
  view.setInt32(0, messageTable, true)
  // Sizes, and the places of fields: of a Message its version, kind, content and the length of its body.
  for (const [i, place] of [12, 20, 16, 18, 4, 8].entries())
    view.setUint16(messageFields + 2 * i, place, true)
  for (const [i, place] of [14, 24, 8, 4, 16, 0, 20].entries())
    view.setUint16(batchFields + 2 * i, place, true)
  view.setInt32(messageTable, messageTable - messageFields, true)
  view.setUint32(messageTable + 4, batchTable - (messageTable + 4), true)
  // Version 5 of the format, and a record batch.
  view.setInt16(messageTable + 16, 4, true)
  view.setUint8(messageTable + 18, 3)
  view.setInt32(batchTable, batchTable - batchFields, true)
  bytes.fill(255, 0, 4)
  return bytes
}

/** Bytes before the body, as {@link EncodedMessage} has them. */
export function metadataLengthOf({ nodes, regions, variadic }: Body): number {
  const vectors = variadic.length > 0 ? 3 : 2
  return prefixLength + firstVector - 4 + 8 * (vectors + nodes.length + regions.length + variadic.length)
}

/** Writes what precedes the body, over zeros. */
export function writeMetadata(body: Body, bytes: Uint8Array, from: number): void {
  const { rows, nodes, regions, variadic, length } = body
  bytes.set(template, from)
  const view = new DataView(bytes.buffer, from)
  view.setInt32(4, metadataLengthOf(body) - prefixLength, true)
  setInt64(view, prefixLength + messageTable + 8, length)
  const table = prefixLength + batchTable
  setInt64(view, table + 8, rows)
  let at = prefixLength + firstVector
  // Nodes and buffers are pairs.
  at = addVector(view, table + 4, at, nodes, 2)
  at = addVector(view, table + 16, at, regions, 2)
  if (variadic.length > 0) addVector(view, table + 20, at, variadic, 1)
  else view.setUint16(prefixLength + batchFields + variadicPlace, 0, true)
}

/** Writes a vector, and its place into a field. Returns where the next one begins. */
function addVector(view: DataView, field: number, at: number, numbers: readonly number[], perItem: number) {
  view.setUint32(field, at - field, true)
  view.setUint32(at, numbers.length / perItem, true)
  for (let i = 0; i < numbers.length; i++) setInt64(view, at + 4 + 8 * i, numbers[i]!)
  return at + 8 + 8 * numbers.length
}

/** Writes an integer that is not negative, and safe, over zeros. */
export function setInt64(view: DataView, at: number, value: number): void {
  // Its lower half is what is left of it in 32 bits.
  view.setUint32(at, value, true)
  if (value >= 2 ** 32) view.setUint32(at + 4, Math.floor(value / 2 ** 32), true)
}
