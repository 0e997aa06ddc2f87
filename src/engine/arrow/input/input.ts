import type { Field, Schema, Table } from '@uwdata/flechette'
import { CatalogError, invalid } from '../../../base/errors.ts'
import { type DecodeOptions, decodeArrow, decodeSchema } from '../ipc/decode.ts'
import { fromJsonSchema, type JsonArrowSchema } from '../json-schema.ts'
import { type ApacheTable, fromApacheTable, isApacheTable } from './apache.ts'
import { checkedTable } from './checked-table.ts'
import { described } from './infer.ts'
import { tableFromRows } from './rows.ts'

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

export interface ArrowInputOptions extends DecodeOptions {
  /**
   * The schema of row objects. Each value is checked against its column, and a missing name is null. Ignored for Arrow
   * data, which has its own schema.
   */
  readonly schema?: ArrowSchemaInput | undefined
  /** Whether to omit columns of the schema that no row object has. Default: they are null. */
  readonly partial?: boolean | undefined
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
 * Throws `InvalidInput` for data that is no table, is damaged, or has no type that could be inferred. Throws
 * `TableSchemaValidationError` with row and column for a value that does not fit the schema.
 */
export async function toArrowTable(data: ArrowInput, options: ArrowInputOptions = {}): Promise<Table> {
  if (data instanceof Uint8Array) return decodeArrow(data, options)
  if (data instanceof ArrayBuffer) return decodeArrow(new Uint8Array(data), options)
  if (Array.isArray(data)) return tableFromRows(data, options.schema && toSchema(options.schema), options)
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
  if (isFields(schema)) return { version: 4, endianness: 0, fields: [...schema], metadata: null }
  if (!Array.isArray((schema as Schema | undefined)?.fields)) {
    throw invalid(
      'The schema has no list of fields. Give an Arrow schema, or { fields: [{ name, type, nullable }] }.',
    )
  }
  const type = schema.fields[0]?.type as { typeId?: unknown } | undefined
  return type && typeof type.typeId === 'number'
    ? (schema as Schema)
    : fromJsonSchema(schema as JsonArrowSchema)
}

function isFields(schema: unknown): schema is readonly Field[] {
  return Array.isArray(schema)
}
