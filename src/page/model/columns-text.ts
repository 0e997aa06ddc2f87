import {
  bool,
  columnFromValues,
  type DataType,
  dateDay,
  float32,
  float64,
  int,
  tableFromColumns,
  tableToIPC,
  timestamp,
  utf8,
} from '@uwdata/flechette'

const types: Readonly<Record<string, () => DataType>> = {
  string: utf8,
  bool,
  int8: () => int(8),
  int16: () => int(16),
  int32: () => int(32),
  int64: () => int(64),
  float: float32,
  double: float64,
  date: dateDay,
  timestamp: () => timestamp(1, 'UTC'),
}

export const typeNames = Object.keys(types)

/**
 * An Arrow stream of an empty table. `text` has the name and the type of one column on each line. An error names the
 * line.
 */
export function emptyTable(text: string): Uint8Array {
  const columns: Record<string, ReturnType<typeof columnFromValues>> = Object.create(null)
  for (const [index, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue
    const [, name, type] = /^\s*(.+?)\s+(\S+)\s*$/.exec(line) ?? []
    if (name === undefined || type === undefined || !Object.hasOwn(types, type))
      throw new Error(`Line ${index + 1} must be a name and a type: ${typeNames.join(', ')}.`)
    if (name in columns) throw new Error(`Line ${index + 1} names the column ${name} again.`)
    columns[name] = columnFromValues([], types[type]!() as never)
  }
  if (Object.keys(columns).length === 0) throw new Error('Give at least one column, such as: delay int64')
  return tableToIPC(tableFromColumns(columns), { format: 'stream' })!
}
