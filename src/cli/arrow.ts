import { type Column, type DataType, Type, tableFromIPC } from '@uwdata/flechette'
import { plain } from './values.ts'

/** The rows in the bytes of an Arrow IPC file, as JSON has them. */
export function* arrowRows(bytes: Uint8Array): Generator<Record<string, unknown>> {
  const table = tableFromIPC(bytes, { useBigInt: true, useDate: true })
  const columns = table.schema.fields.map(({ name, type }, index) => ({
    name,
    column: table.getChildAt(index) as Column<unknown>,
    read: readerOf(type),
  }))
  for (let row = 0; row < table.numRows; row++) {
    const record: Record<string, unknown> = {}
    for (const { name, column, read } of columns) record[name] = read(column.at(row))
    yield record
  }
}

function readerOf({ typeId }: DataType): (value: unknown) => unknown {
  if (typeId !== Type.Date) return plain
  return (value) => (value instanceof Date ? value.toISOString().replace('T00:00:00.000Z', '') : plain(value))
}
