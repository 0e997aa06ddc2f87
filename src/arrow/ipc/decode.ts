import { type DataType, type Field, type Schema, Table, Type } from '@uwdata/flechette'
import { CatalogError, invalid } from '../../errors.ts'
import { TimeSlice } from '../../scheduling/time-slice.ts'
import { type AnyBatch, type AnyColumn, makeColumn } from '../batch.ts'
import { checkColumns } from '../schema.ts'
import { typeName } from '../type-name.ts'
import { validateBatch } from '../validate.ts'
import { type BodyContext, BodyReader, damaged } from './body.ts'
import { loadDecompress } from './compression.ts'
import { isArrowFile, readBlock, readFooter } from './file.ts'
import { type EncapsulatedMessage, readEncapsulatedMessage } from './message.ts'

export interface DecodeOptions {
  /** Most bytes of all compressed buffers after decompression. Default 2 GiB. */
  readonly maxDecompressedBytes?: number
}

/**
 * The table in the bytes of an Arrow IPC stream or file. Its buffers are views of the bytes where these are aligned and
 * not compressed, so do not change the bytes afterwards.
 *
 * The whole table is checked. Throws `InvalidInput` with the problem and its column for bytes that are cut off or
 * damaged. Throws `TableSchemaValidationError` for a schema without columns or with a name twice.
 */
export async function decodeArrow(bytes: Uint8Array, options: DecodeOptions = {}): Promise<Table> {
  try {
    return await decode(bytes, options.maxDecompressedBytes ?? 2 ** 31)
  } catch (error) {
    if (error instanceof CatalogError) throw error
    throw invalid('The Arrow data is damaged and cannot be read. Write and send it again.', { cause: error })
  }
}

async function decode(bytes: Uint8Array, limit: number): Promise<Table> {
  if (bytes.length === 0) {
    throw invalid(
      'There are no Arrow bytes. Send an Arrow IPC stream or file; one with a schema alone will do.',
    )
  }
  const { schema, messages } = isArrowFile(bytes) ? fileMessages(bytes) : streamMessages(bytes)
  checkColumns(schema)
  const codecs = new Set<'lz4' | 'zstd'>()
  for (const { message } of messages) {
    if (message.kind !== 'schema' && message.header.compression) codecs.add(message.header.compression)
  }
  const decompress = await loadDecompress(codecs, limit)
  const dictionaries = new Map<number, AnyColumn>()
  const context: BodyContext = { decompress, dictionary: (id) => dictionaries.get(id) }
  const encoded = dictionaryTypes(schema.fields)
  const columns: AnyBatch[][] = schema.fields.map(() => [])
  const timeSlice = new TimeSlice(undefined)
  for (const placed of messages) {
    if (timeSlice.due) await timeSlice.rest()
    if (placed.message.kind === 'records') readRecords(placed, schema.fields, context, columns)
    if (placed.message.kind === 'dictionary') readDictionary(placed, encoded, context, dictionaries)
  }
  return new Table(
    schema,
    schema.fields.map((field, i) => makeColumn(field.type, columns[i]!)),
  )
}

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

function readRecords(
  { message, body }: EncapsulatedMessage,
  fields: readonly Field[],
  context: BodyContext,
  columns: AnyBatch[][],
): void {
  if (message.kind !== 'records') return
  const { header } = message
  checkRowCount(header.length, body.length)
  const reader = new BodyReader(header, body, context)
  fields.forEach((field, i) => {
    const batch = reader.read(field.type, field.name)
    if (batch.length !== header.length) {
      throw invalid(
        `The Arrow data is damaged: column ${JSON.stringify(field.name)} has ${batch.length} rows in a batch of ` +
          `${header.length}. Write and send it again.`,
      )
    }
    validateBatch(batch, field.name)
    columns[i]!.push(batch)
  })
}

/** Columns of nulls or of runs take no bytes for a row, so a few bytes could claim any number of rows. */
export function checkRowCount(rows: number, bytes: number): void {
  if (rows > 2 ** 26 && rows > bytes * 8) {
    throw invalid(
      `An Arrow record batch claims ${rows} rows in ${bytes} bytes. Send them in smaller batches.`,
    )
  }
}

function readDictionary(
  { message, body }: EncapsulatedMessage,
  types: ReadonlyMap<number, { type: DataType; column: string }>,
  context: BodyContext,
  dictionaries: Map<number, AnyColumn>,
): void {
  if (message.kind !== 'dictionary') return
  const { id, header, isDelta } = message
  const known = types.get(id)
  if (known === undefined) {
    throw invalid(`The Arrow data holds dictionary ${id}, which no column has. Write and send it again.`)
  }
  checkRowCount(header.length, body.length)
  const { type, column } = known
  const batch = new BodyReader(header, body, context).read(type, column)
  validateBatch(batch, column)
  const earlier = dictionaries.get(id)
  if (isDelta && earlier === undefined) {
    throw invalid(`Column ${JSON.stringify(column)} extends a dictionary that was never sent. Send it whole.`)
  }
  dictionaries.set(id, makeColumn(type, isDelta ? [...earlier!.data, batch] : [batch]))
}

/** The type of every dictionary's values, by id. */
function dictionaryTypes(fields: readonly Field[]): Map<number, { type: DataType; column: string }> {
  const types = new Map<number, { type: DataType; column: string }>()
  const visit = (type: DataType, column: string): void => {
    if (type.typeId === Type.Dictionary) {
      const shared = types.get(type.id)
      if (shared && typeName(shared.type) !== typeName(type.dictionary)) {
        throw damaged(
          column,
          `shares a dictionary with column ${JSON.stringify(shared.column)} of another type`,
        )
      }
      types.set(type.id, { type: type.dictionary, column })
      visit(type.dictionary, column)
    } else if ('children' in type) {
      for (const field of type.children) visit(field.type, `${column}.${field.name}`)
    }
  }
  for (const field of fields) visit(field.type, field.name)
  return types
}
