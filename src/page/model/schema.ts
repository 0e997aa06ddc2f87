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

/** A field of a schema in the response of `describeTable`. */
export interface SchemaField {
  readonly name: string
  readonly nullable: boolean
  readonly type: FieldType
  readonly metadata?: Readonly<Record<string, string>>
}

interface FieldType {
  readonly type: string
  readonly length?: number
  readonly fields?: readonly SchemaField[]
}

/** A type as text: `list<item: int64>`. */
export function typeText({ type, length, fields }: FieldType, depth = 0): string {
  if (depth > 8) return '…'
  const size = length === undefined ? '' : `[${length}]`
  if (fields === undefined) return type + size
  const inner = fields.map((field) => `${field.name}: ${typeText(field.type, depth + 1)}`)
  return `${type}${size}<${inner.join(', ')}>`
}

/** A column name as a predicate writes it, quoted if necessary. */
export function columnPath(name: string): string {
  return /^[A-Za-z_]\w*$/.test(name) && !words.has(name.toLowerCase())
    ? name
    : `\`${name.replaceAll('`', '``')}\``
}

const words = new Set(
  'and or not in is null like between true false case when then else end cast as date time timestamp interval escape'.split(
    ' ',
  ),
)

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
