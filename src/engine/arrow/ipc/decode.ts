import { type DataType, type Field, type Schema, Table, Type } from '@uwdata/flechette'
import { CatalogError, invalid } from '../../../base/errors.ts'
import { TimeSlice } from '../../../base/scheduling/time-slice.ts'
import { type AnyBatch, type AnyColumn, makeColumn } from '../batch.ts'
import { checkColumns } from '../schema.ts'
import { typeName } from '../type-name.ts'
import { validateBatch } from '../validate.ts'
import { type Body, type BodyContext, BodyReader, columnCursors, damaged } from './body.ts'
import { decompress } from './decompress.ts'
import {
  type BatchHeader,
  type EncapsulatedMessage,
  isArrowFile,
  readBlock,
  readEncapsulatedMessage,
  readFooter,
} from './message.ts'
import { addSizes, bufferAt, checkSizes, readPacked, type Sizes } from './sizes.ts'

export interface DecodeOptions {
  /**
   * Most bytes of all buffers after decompression. Larger data is accepted only if it has that size without
   * compression. Default: 1 GiB. Without a limit, a few bytes could expand to any amount of memory.
   */
  readonly maxDecodedBytes?: number | undefined
  /** Called before decoding allocates memory besides the given bytes, with the number of bytes. */
  readonly reserve?: ((bytes: number) => Promise<void> | undefined) | undefined
  readonly signal?: AbortSignal | undefined
}

/**
 * The table in the bytes of an Arrow IPC stream or file. Aligned, uncompressed buffers are views of the bytes, so do
 * not change the bytes afterwards.
 *
 * The whole table is checked. Throws `InvalidInput` with the problem and its column for bytes that are cut off or
 * damaged, and for a table that would be too large. Throws `TableSchemaValidationError` for a schema without columns or
 * with duplicate names.
 */
export async function decodeArrow(bytes: Uint8Array, options: DecodeOptions = {}): Promise<Table> {
  try {
    return await decode(bytes, options)
  } catch (error) {
    if (error instanceof CatalogError || options.signal?.aborted) throw error
    throw invalid('The Arrow data is damaged and cannot be read. Write and send it again.', { cause: error })
  }
}

/** The schema of an Arrow IPC stream or file without rows. Throws as `decodeArrow` does. */
export function decodeSchema(bytes: Uint8Array): Schema {
  try {
    const { schema, messages } = isArrowFile(bytes) ? fileMessages(bytes) : streamMessages(bytes)
    if (messages.some(({ message }) => message.kind === 'records' && message.header.length > 0)) {
      throw invalid('The Arrow bytes of a schema have rows, which have no place here. Send the schema alone.')
    }
    checkColumns(schema)
    return schema
  } catch (error) {
    if (error instanceof CatalogError) throw error
    throw invalid('The Arrow data is damaged and cannot be read. Write and send it again.', { cause: error })
  }
}

async function decode(
  bytes: Uint8Array,
  { maxDecodedBytes = 2 ** 30, reserve, signal }: DecodeOptions,
): Promise<Table> {
  if (bytes.length === 0) {
    throw invalid(
      'There are no Arrow bytes. Send an Arrow IPC stream or file; one with a schema alone will do.',
    )
  }
  const { schema, messages } = isArrowFile(bytes) ? fileMessages(bytes) : streamMessages(bytes)
  checkColumns(schema)
  const encoded = dictionaryTypes(schema.fields)
  const timeSlice = new TimeSlice(signal)
  const sizes: Sizes = { decoded: 0, added: 0 }
  for (const { message, body } of messages) {
    if (message.kind === 'records') addSizes(sizes, message.header, body, schema.fields)
    const known = message.kind === 'dictionary' ? encoded.get(message.id) : undefined
    if (message.kind === 'dictionary' && known) addSizes(sizes, message.header, body, [known])
    if (timeSlice.due) await timeSlice.rest()
  }
  checkSizes(sizes, Math.max(maxDecodedBytes, bytes.length))
  const reserved = reserve?.(sizes.added)
  if (reserved) await reserved
  const dictionaries = new Map<number, AnyColumn>()
  const context: BodyContext = { dictionary: (id) => dictionaries.get(id) }
  const columns: AnyBatch[][] = schema.fields.map(() => [])
  for (const placed of messages) {
    if (timeSlice.due) await timeSlice.rest()
    const { message } = placed
    if (message.kind === 'records') await readRecords(placed, schema.fields, context, columns, timeSlice)
    if (message.kind === 'dictionary') await readDictionary(placed, encoded, context, dictionaries, timeSlice)
  }
  return new Table(
    schema,
    schema.fields.map((field, i) => makeColumn(field.type, columns[i]!)),
  )
}

/** The body of a message, or its separate buffers if they were compressed. */
async function decompressed(
  header: BatchHeader,
  body: Uint8Array,
  fields: readonly NamedType[],
  timeSlice: TimeSlice,
): Promise<Body> {
  const { compression, buffers } = header
  if (compression === undefined) return body
  const found: (Uint8Array | undefined)[] = []
  const types = fields.map(({ type }) => type)
  const ends = columnCursors(header, types).map(({ buffer }) => buffer)
  for (const [i, { name }] of fields.entries()) {
    const end = Math.min(ends[i + 1] ?? buffers.length, buffers.length)
    while (found.length < end) {
      const bytes = bufferAt(header, body, found.length)
      const packed = bytes?.length ? readPacked(bytes, header, name) : undefined
      found.push(
        packed?.length === undefined
          ? (packed?.bytes ?? bytes)
          : await decompress(packed.bytes, packed.length, compression, name, timeSlice),
      )
      if (timeSlice.due) await timeSlice.rest()
    }
  }
  return found
}

/** A type, and the name that errors call its column. */
export type NamedType = Pick<Field, 'name' | 'type'>

interface Messages {
  readonly schema: Schema
  readonly messages: readonly EncapsulatedMessage[]
}

function streamMessages(bytes: Uint8Array): Messages {
  const first = readEncapsulatedMessage(bytes, 0)
  if (first?.message.kind !== 'schema') {
    throw invalid(
      'These are no Arrow bytes: they do not begin with a schema. Send an Arrow IPC stream or file.',
    )
  }
  const messages: EncapsulatedMessage[] = []
  for (let at = first.end; ; ) {
    const next = readEncapsulatedMessage(bytes, at)
    if (next === undefined) return { schema: first.message.schema, messages }
    if (next.message.kind !== 'schema') messages.push(next)
    at = next.end
  }
}

function fileMessages(bytes: Uint8Array): Messages {
  const { schema, dictionaries, records } = readFooter(bytes)
  // In the order of the file, each record batch comes after its dictionaries.
  const blocks = [...dictionaries, ...records].sort((a, b) => a.offset - b.offset)
  return { schema: schema(), messages: blocks.map((block) => readBlock(bytes, block)) }
}

export async function readRecords(
  { message, body }: EncapsulatedMessage,
  fields: readonly Field[],
  context: BodyContext,
  columns: AnyBatch[][],
  timeSlice: TimeSlice,
): Promise<void> {
  if (message.kind !== 'records') return
  const { header } = message
  checkRowCount(header.length, body.length)
  const reader = new BodyReader(header, await decompressed(header, body, fields, timeSlice), context)
  for (const [i, field] of fields.entries()) {
    const batch = reader.read(field.type, field.name)
    if (batch.length !== header.length) {
      throw invalid(
        `The Arrow data is damaged: column ${JSON.stringify(field.name)} has ${batch.length} rows in a batch of ` +
          `${header.length}. Write and send it again.`,
      )
    }
    await validateBatch(batch, field.name, timeSlice)
    columns[i]!.push(batch)
  }
}

/** Columns of nulls or runs take no bytes per row, so a few bytes could claim any number of rows. */
export function checkRowCount(rows: number, bytes: number): void {
  if (rows > 2 ** 26 && rows > bytes * 8) {
    throw invalid(
      `An Arrow record batch claims ${rows} rows in ${bytes} bytes. Send them in smaller batches.`,
    )
  }
}

export async function readDictionary(
  { message, body }: EncapsulatedMessage,
  types: ReadonlyMap<number, NamedType>,
  context: BodyContext,
  dictionaries: Map<number, AnyColumn>,
  timeSlice: TimeSlice,
): Promise<void> {
  if (message.kind !== 'dictionary') return
  const { id, header, isDelta } = message
  const known = types.get(id)
  if (known === undefined) {
    throw invalid(`The Arrow data holds dictionary ${id}, which no column has. Write and send it again.`)
  }
  checkRowCount(header.length, body.length)
  const { type, name: column } = known
  const buffers = await decompressed(header, body, [known], timeSlice)
  const batch = new BodyReader(header, buffers, context).read(type, column)
  await validateBatch(batch, column, timeSlice)
  const earlier = dictionaries.get(id)
  if (isDelta && earlier === undefined) {
    throw invalid(`Column ${JSON.stringify(column)} extends a dictionary that was never sent. Send it whole.`)
  }
  dictionaries.set(id, makeColumn(type, isDelta ? [...earlier!.data, batch] : [batch]))
}

/** The type of every dictionary's values, by id. */
export function dictionaryTypes(fields: readonly Field[]): Map<number, NamedType> {
  const types = new Map<number, NamedType>()
  const visit = (type: DataType, column: string): void => {
    if (type.typeId === Type.Dictionary) {
      const shared = types.get(type.id)
      if (shared && typeName(shared.type) !== typeName(type.dictionary)) {
        throw damaged(
          column,
          `shares a dictionary with column ${JSON.stringify(shared.name)} of another type`,
        )
      }
      types.set(type.id, { type: type.dictionary, name: column })
      visit(type.dictionary, column)
    } else if ('children' in type) {
      for (const field of type.children) visit(field.type, `${column}.${field.name}`)
    }
  }
  for (const field of fields) visit(field.type, field.name)
  return types
}
