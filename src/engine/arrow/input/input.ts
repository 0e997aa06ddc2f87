import { type Field, type Schema, Table, Type } from '@uwdata/flechette'
import { CatalogError, invalid } from '../../../base/errors.ts'
import { TimeSlice } from '../../../base/scheduling/time-slice.ts'
import { performance } from '../../../base/time.ts'
import { type AnyBatch, makeColumn } from '../batch.ts'
import { type DecodeOptions, decodeArrow, decodeSchema } from '../ipc/decode.ts'
import { hasDictionary } from '../layout.ts'
import { isOpen, typedSchema } from '../null-types.ts'
import { checkColumns, fromJsonSchema, type JsonArrowSchema } from '../schema.ts'
import { sliceBatch } from '../take/take.ts'
import { type ApacheTable, fromApacheTable, isApacheTable } from './apache.ts'
import { buildBatch, unknownFields } from './build.ts'
import { checkedTable } from './checked-table.ts'
import { described, Inference, ownValue } from './infer.ts'

/**
 * Accepted as a table: Arrow IPC bytes (stream or file), an Arrow table, or row objects. Bytes and the buffers of
 * tables are not copied: do not change them before the call completes.
 */
export type ArrowInput =
  | Uint8Array
  | ArrayBuffer
  | Table
  | ApacheTable
  | readonly Readonly<Record<string, unknown>>[]

/** Accepted as a schema: an Arrow schema, its fields, its JSON form, or an Arrow IPC stream or file that has it. */
export type ArrowSchemaInput = Schema | readonly Field[] | JsonArrowSchema | Uint8Array

/** Whether columns take types where they are null, or the schema whose types they take before those of values. */
export type TakesTypes = boolean | ArrowSchemaInput

interface ArrowInputOptions extends DecodeOptions {
  /**
   * The schema of row objects. Each value is checked against its column, and a missing name is null. Ignored for Arrow
   * data, which has its own schema.
   */
  readonly schema?: ArrowSchemaInput | undefined
  /** Whether to omit columns of the schema that no row object has. Default: they are null. */
  readonly partial?: boolean | undefined
  /**
   * Whether columns of the schema whose type is null take the types of the values, or first those of another schema.
   * Default: they hold nulls only.
   */
  readonly takesTypes?: TakesTypes | undefined
  /** The number of the first row object, for errors. Default: 0. */
  readonly firstRow?: number | undefined
  /** Called from time to time while columns are built from row objects. */
  readonly onProgress?:
    | ((progress: { readonly rowsDone: number; readonly rowsTotal: number }) => void)
    | undefined
}

/**
 * A checked Arrow table from any accepted data.
 *
 * Without a schema, the types of row objects are inferred from all rows. Numbers become float64, bigints int64, Dates
 * timestamps in milliseconds, Uint8Arrays binary, arrays lists, and objects structs. Other typed arrays become vectors
 * of their type, of fixed size if all have the same length. Every column may be null. A column with values of several
 * kinds is refused.
 *
 * Throws `InvalidInput` for data that is no table, is damaged, has no type that could be inferred, or has rows of which
 * none names a column. Throws
 * `TableSchemaValidationError` with row and column for a value that does not fit the schema.
 */
export async function toArrowTable(data: ArrowInput, options: ArrowInputOptions = {}): Promise<Table> {
  if (data instanceof Uint8Array) return decodeArrow(data, options)
  if (data instanceof ArrayBuffer) return decodeArrow(new Uint8Array(data), options)
  if (Array.isArray(data)) {
    if (data.length > 0 && !data.some(namesColumn)) throw namelessRows(data.length)
    return tableFromRows(data, options.schema && toSchema(options.schema), options)
  }
  if (isFlechetteTable(data)) return checkedTable(data)
  if (isApacheTable(data)) return checkedTable(apacheTable(data))
  throw invalid(
    `The data is ${described(data)}. Give Arrow IPC bytes, an Arrow table or an array of row objects.`,
  )
}

function apacheTable(data: ApacheTable): Table {
  try {
    return fromApacheTable(data)
  } catch (cause) {
    if (cause instanceof CatalogError) throw cause
    throw invalid('The apache-arrow table cannot be read. Send the result of its tableToIPC.', { cause })
  }
}

function isFlechetteTable(data: unknown): data is Table {
  const table = data as Partial<Table> | null | undefined
  const type = table?.schema?.fields?.[0]?.type as { typeId?: unknown } | undefined
  return (
    Array.isArray(table?.children) && Array.isArray(table.names) && (!type || typeof type.typeId === 'number')
  )
}

/** The Arrow schema for any accepted form. */
export function toSchema(schema: ArrowSchemaInput): Schema {
  if (schema instanceof Uint8Array) return decodeSchema(schema)
  if (Array.isArray(schema)) return { version: 4, endianness: 0, fields: [...schema], metadata: null }
  const { fields } = (schema ?? {}) as Schema
  if (!Array.isArray(fields)) {
    throw invalid(
      'The schema has no list of fields. Give an Arrow schema, or { fields: [{ name, type, nullable }] }.',
    )
  }
  const isJson = typeof fields[0]?.type?.typeId !== 'number'
  return isJson ? fromJsonSchema(schema as JsonArrowSchema) : (schema as Schema)
}

type Row = Readonly<Record<string, unknown>>

/** Rows between two checks of the clock. */
const fewRows = 16

/** Whether a row has a value for a column, which may be null. What is no row is refused elsewhere. */
export function namesColumn(row: unknown): boolean {
  return typeof row !== 'object' || row === null || Array.isArray(row) || Object.keys(row).length > 0
}

/** The error for rows of which none names a column. They would be rows of nulls, which nobody means. */
export function namelessRows(count: number): CatalogError {
  const none =
    count === 1
      ? 'The row names no column.'
      : `None of the ${count.toLocaleString('en')} rows names a column.`
  return invalid(`${none} Give a value for at least one column of one row; it may be null.`)
}

/**
 * A table of row objects with the given or inferred schema, also where they name no column, as some rows of many may.
 * Building one of its batches does not delay other work.
 */
export async function tableFromRows(
  rows: readonly Row[],
  given: Schema | undefined,
  {
    signal,
    onProgress,
    partial = false,
    takesTypes = false,
    firstRow = 0,
  }: Pick<ArrowInputOptions, 'signal' | 'onProgress' | 'partial' | 'takesTypes' | 'firstRow'>,
): Promise<Table> {
  const timeSlice = new TimeSlice(signal)
  const whole =
    given === undefined
      ? await inferSchema(rows, signal)
      : takesTypes
        ? await withTypesOfRows(given, takesTypes, rows, signal, firstRow)
        : given
  checkColumns(whole)
  const used = given === undefined ? undefined : await checkNames(rows, whole, timeSlice, firstRow)
  const fields =
    partial && used && used.size > 0 ? whole.fields.filter(({ name }) => used.has(name)) : whole.fields
  const schema = { ...whole, fields }
  const columns: AnyBatch[][] = fields.map(() => [])
  // A dictionary covers the whole column.
  const isWhole = fields.map(({ type }) => hasDictionary(type))
  const lengths: number[] = []
  let size = 256
  for (let start = 0; start < rows.length; ) {
    const end = Math.min(start + size, rows.length)
    const began = performance.now()
    for (const [i, field] of fields.entries()) {
      if (!isWhole[i]) columns[i]!.push(buildBatch(field, cells(rows, field.name, start, end, firstRow)))
    }
    size = nextSize(size, performance.now() - began)
    lengths.push(end - start)
    start = end
    onProgress?.({ rowsDone: end, rowsTotal: rows.length })
    if (timeSlice.due) await timeSlice.rest()
  }
  for (const [i, field] of fields.entries()) {
    if (rows.length === 0 || !isWhole[i]) continue
    const whole = buildBatch(field, cells(rows, field.name, 0, rows.length, firstRow))
    let at = 0
    for (const length of lengths) {
      columns[i]!.push(sliceBatch(whole, at, at + length))
      at += length
    }
    if (timeSlice.due) await timeSlice.rest()
  }
  return new Table(
    schema,
    fields.map(({ type }, i) => makeColumn(type, columns[i]!)),
  )
}

/** How many rows to build next, after so many took so many milliseconds: about a few milliseconds' worth. */
function nextSize(rows: number, took: number): number {
  if (took < 2) return Math.min(rows * 2, 16_384)
  return took > 6 ? Math.max(rows / 2, 64) : rows
}

/** The values of a column in rows from `start` up to `end`. */
function cells(rows: readonly Row[], name: string, start: number, end: number, firstRow: number) {
  const values: unknown[] = []
  const numbers: number[] = []
  for (let i = start; i < end; i++) {
    values.push(ownValue(rows[i]!, name))
    numbers.push(firstRow + i)
  }
  return { values, rows: numbers }
}

/** The columns of row objects, each with the type of its values. */
export async function inferSchema(rows: readonly Row[], signal: AbortSignal | undefined): Promise<Schema> {
  const timeSlice = new TimeSlice(signal)
  const inference = new Inference()
  for (const [i, row] of rows.entries()) {
    requireObject(row, i)
    inference.addFields(row, i)
    if (i % fewRows === 0 && timeSlice.due) await timeSlice.rest()
  }
  const { fields } = inference
  if (fields.length === 0) {
    throw invalid(
      'There are no rows with values to tell the columns from. Give a schema, or at least one row.',
    )
  }
  return { version: 4, endianness: 0, fields, metadata: null }
}

/** The schema, with other types where its own are null: those of a schema that is given, and those of the values. */
export async function withTypesOfRows(
  known: Schema,
  takes: TakesTypes,
  rows: readonly Row[],
  signal: AbortSignal | undefined,
  firstRow = 0,
): Promise<Schema> {
  if (!known.fields.some(({ type }) => isOpen(type))) return known
  const schema = typeof takes === 'boolean' ? known : typedSchema(known, toSchema(takes).fields)
  const timeSlice = new TimeSlice(signal)
  const given: Field[] = []
  for (const { name, type } of schema.fields) {
    if (!isOpen(type)) continue
    const inference = new Inference()
    try {
      for (const [i, row] of rows.entries()) {
        requireObject(row, firstRow + i)
        inference.addFields({ [name]: ownValue(row, name) }, firstRow + i)
        if (i % fewRows === 0 && timeSlice.due) await timeSlice.rest()
      }
      given.push(...inference.fields)
    } catch (error) {
      // What has a type may hold values of several kinds, such as numbers and bigints.
      if (type.typeId === Type.Null || !(error instanceof CatalogError)) throw error
    }
  }
  return typedSchema(schema, given)
}

/** Refuses rows with values that no column of the schema has. Returns the names that occur in the rows. */
async function checkNames(
  rows: readonly Row[],
  { fields }: Schema,
  timeSlice: TimeSlice,
  firstRow: number,
): Promise<ReadonlySet<string>> {
  const names = new Set(fields.map(({ name }) => name))
  const used = new Set<string>()
  for (const [i, row] of rows.entries()) {
    requireObject(row, firstRow + i)
    for (const name of Object.keys(row)) {
      if (!names.has(name)) throw unknownFields(Object.keys(row), names, firstRow + i)
      used.add(name)
    }
    if (i % fewRows === 0 && timeSlice.due) await timeSlice.rest()
  }
  return used
}

function requireObject(row: unknown, i: number): void {
  if (typeof row === 'object' && row !== null && !Array.isArray(row)) return
  throw invalid(`Row ${i} is ${described(row)}. Give every row as an object with a value for each column.`)
}
