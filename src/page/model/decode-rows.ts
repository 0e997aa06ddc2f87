import { tableFromIPC } from '@uwdata/flechette'

/** The rows of a response. Columns are identified by index, since two may have the same name. */
export interface Rows {
  readonly columns: readonly string[]
  readonly rows: readonly (readonly unknown[])[]
}

/** Decodes the rows of an Arrow file. */
export function decodeRows(bytes: Uint8Array): Rows {
  const table = tableFromIPC(bytes, { useBigInt: true })
  const columns = table.schema.fields.map(({ name }) => name)
  const children = columns.map((_, index) => table.getChildAt(index))
  const rows = Array.from({ length: table.numRows }, (_, row) => children.map((child) => child.at(row)))
  return { columns, rows }
}
