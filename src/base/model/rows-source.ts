/** A table of an Arrow library: `apache-arrow` of any version, or `@uwdata/flechette`. */
export interface ArrowTable {
  readonly schema: { readonly fields: readonly unknown[] }
  readonly numRows: number
}

/**
 * Accepted as rows that are read while they are written: an iterable, an async iterable or a `ReadableStream`, such as a
 * generator. Its items are row objects, arrays of them, tables or record batches of an Arrow library, or the bytes of
 * Arrow IPC streams in pieces of any size.
 */
export type RowsSource = Iterable<RowsItem> | AsyncIterable<RowsItem>

/** An item of such an iterable. */
export type RowsItem =
  | Readonly<Record<string, unknown>>
  | readonly Readonly<Record<string, unknown>>[]
  | ArrowTable
  | Uint8Array

/** Whether rows are read while they are written, and not as a whole. */
export function isRowsSource(data: unknown): data is RowsSource {
  if (typeof data !== 'object' || data === null || ArrayBuffer.isView(data)) return false
  // An array of row objects is a whole; one of Arrow batches is not.
  if (Array.isArray(data)) return data[0] instanceof Uint8Array || isArrowTable(data[0])
  // Tables of Arrow libraries are iterable, too.
  if (isArrowTable(data)) return false
  return Symbol.asyncIterator in data || Symbol.iterator in data || 'getReader' in data
}

/** Whether an object is a table or record batch of an Arrow library, and not a row. */
export function isArrowTable(data: unknown): data is ArrowTable {
  const { schema, numRows } = (data ?? {}) as Partial<ArrowTable>
  return Array.isArray(schema?.fields) && typeof numRows === 'number'
}
