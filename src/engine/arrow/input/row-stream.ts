import type { Schema, Table } from '@uwdata/flechette'
import { invalid } from '../../../base/errors.ts'
import { isArrowTable, type RowsItem, type RowsSource } from '../../../base/model/rows-source.ts'
import { type StreamDecodeOptions, StreamDecoder } from '../ipc/decode-stream.ts'
import { isOpen, typedSchema } from '../null-types.ts'
import { checkColumns } from '../schema.ts'
import { isApacheBatch, tableOfBatch } from './apache.ts'
import { described } from './infer.ts'
import {
  type ArrowInput,
  type ArrowSchemaInput,
  inferSchema,
  namelessRows,
  namesColumn,
  type TakesTypes,
  tableFromRows,
  toArrowTable,
  toSchema,
  withTypesOfRows,
} from './input.ts'
import { pulled } from './pull.ts'

/** Rows that arrive while they are written. */
export interface RowStream {
  /** The columns of the first rows, or the given ones. */
  readonly schema: Schema
  /** Tables of some rows each, in order; checked, and made only when they are asked for. Read once. */
  readonly tables: AsyncIterable<Table>
}

export interface RowStreamOptions extends StreamDecodeOptions {
  /** The columns of row objects. */
  readonly schema?: ArrowSchemaInput | undefined
  /** Whether columns of the schema whose type is null take the types of the first values, or those of a schema. */
  readonly takesTypes?: TakesTypes | undefined
}

/** Row objects whose types are inferred together, and about the most bytes that they take. */
const sampleRows = 8_192
const sampleBytes = 16 * 1024 * 1024

/** Row objects that become columns together, and about the most bytes that they take. */
const groupRows = 8_192
const groupBytes = 4 * 1024 * 1024

/**
 * Begins to read rows. Without a schema, the first rows decide the columns: those of the first Arrow table, or the types
 * that the first row objects have, some thousands of them at most. Throws as `toArrowTable` and `pulled` do.
 */
export async function openRowStream(source: RowsSource, options: RowStreamOptions): Promise<RowStream> {
  const parts = partsOf(source, options)
  const known = options.schema === undefined ? undefined : toSchema(options.schema)
  if (known !== undefined) {
    checkColumns(known)
    const isFixed = !options.takesTypes || !known.fields.some(({ type }) => isOpen(type))
    if (isFixed) return { schema: known, tables: tablesOf([], parts, known, options) }
  }
  try {
    const first: Part[] = []
    const sample: Row[] = []
    let schema: Schema | undefined
    for (let bytes = 0; schema === undefined && sample.length < sampleRows && bytes < sampleBytes; ) {
      const { done, value } = await parts.next()
      if (done) break
      first.push(value)
      if ('table' in value) schema = sample.length === 0 ? value.table.schema : undefined
      else {
        sample.push(...value.rows)
        bytes += value.bytes
      }
      if ('table' in value) break
    }
    if (known !== undefined) {
      const takes = options.takesTypes!
      const arrow = schema && typedSchema(known, schema.fields)
      schema = arrow ?? (await withTypesOfRows(known, takes, sample, options.signal))
    }
    schema ??= await inferSchema(sample, options.signal)
    checkColumns(schema)
    return { schema, tables: tablesOf(first, parts, schema, options) }
  } catch (error) {
    await parts.return()
    throw error
  }
}

type Row = Readonly<Record<string, unknown>>

/** Some rows of a source, as they came. */
type Part =
  | { readonly table: Table }
  | { readonly rows: readonly Row[]; readonly bytes: number; readonly firstRow: number }

type Parts = AsyncGenerator<Part, void, void>

/** The tables of parts, first of those that were read before. */
async function* tablesOf(
  first: Part[],
  rest: Parts,
  schema: Schema,
  { signal }: RowStreamOptions,
): AsyncGenerator<Table> {
  try {
    const tableOf = async (part: Part) =>
      'table' in part ? part.table : tableFromRows(part.rows, schema, { signal, firstRow: part.firstRow })
    for (let part = first.shift(); part !== undefined; part = first.shift()) yield await tableOf(part)
    for await (const part of rest) yield await tableOf(part)
  } finally {
    await rest.return()
  }
}

/** The items of a source, with row objects in groups, and bytes decoded. */
async function* partsOf(source: RowsSource, options: RowStreamOptions): Parts {
  const { signal } = options
  let decoder: StreamDecoder | undefined
  let rows: Row[] = []
  let bytes = 0
  let firstRow = 0
  let isNamed = false
  const flush = (): Part => {
    const part = { rows, bytes, firstRow }
    firstRow += rows.length
    rows = []
    bytes = 0
    return part
  }
  const isFull = (row: Row) => {
    isNamed ||= namesColumn(row)
    bytes = bytesOf(row, bytes)
    return rows.push(row) >= groupRows || bytes >= groupBytes
  }
  for await (const item of pulled(source, signal)) {
    if (item instanceof Uint8Array) {
      if (rows.length > 0) yield flush()
      decoder ??= new StreamDecoder(options)
      for await (const table of decoder.add(item)) {
        firstRow += table.numRows
        isNamed = true
        yield { table }
      }
      continue
    }
    if (Array.isArray(item)) {
      for (const row of item as readonly Row[]) if (isFull(row)) yield flush()
      continue
    }
    const table = await tableOf(item)
    if (table === undefined) {
      if (isFull(item as Row)) yield flush()
      continue
    }
    if (rows.length > 0) yield flush()
    firstRow += table.numRows
    isNamed = true
    yield { table }
  }
  if (rows.length > 0) yield flush()
  if (firstRow > 0 && !isNamed) throw namelessRows(firstRow)
  decoder?.end()
}

/** A checked table of a table or record batch. Undefined for a row object. */
async function tableOf(item: RowsItem): Promise<Table | undefined> {
  if (typeof item !== 'object' || item === null) {
    throw invalid(
      `An item of the rows is ${described(item)}. Give row objects, arrays of them, Arrow tables or batches, or Arrow IPC bytes.`,
    )
  }
  if (!isArrowTable(item)) return undefined
  return toArrowTable((isApacheBatch(item) ? tableOfBatch(item) : item) as ArrowInput)
}

/** About how many bytes values take, beyond `known` others. */
function bytesOf(value: unknown, known: number): number {
  let bytes = known
  const add = (one: unknown): void => {
    if (typeof one === 'string') bytes += 2 * one.length + 16
    else if (typeof one !== 'object' || one === null) bytes += 8
    else if (ArrayBuffer.isView(one)) bytes += one.byteLength + 64
    else if (Array.isArray(one)) for (const member of one) add(member)
    else {
      bytes += 32
      for (const name in one) add((one as Row)[name])
    }
  }
  add(value)
  return bytes
}
