import { type DataType, type Schema, tableFromIPC } from '@uwdata/flechette'

/** The rows of a response. Columns are identified by index, since two may have the same name. */
export interface Rows {
  readonly columns: readonly string[]
  readonly types: readonly DataType[]
  readonly rows: readonly (readonly unknown[])[]
  readonly metadata: Schema['metadata']
}

/** A value that has no JavaScript value, such as a date beyond all numbers. */
export const unreadable = Symbol('unreadable')

/** Decodes the rows of an Arrow file. Moments and decimals stay whole numbers of their units, so no digit is lost. */
export function decodeRows(bytes: Uint8Array): Rows {
  const table = tableFromIPC(bytes, { useBigInt: true, useBigIntTimestamp: true, useDecimalInt: true })
  const { fields, metadata } = table.schema
  const children = fields.map((_, index) => table.getChildAt(index))
  const at = (column: (typeof children)[number], row: number): unknown => {
    try {
      return column.at(row)
    } catch {
      return unreadable
    }
  }
  const rows = Array.from({ length: table.numRows }, (_, row) => children.map((child) => at(child, row)))
  return { columns: table.names as string[], types: fields.map(({ type }) => type), rows, metadata }
}
