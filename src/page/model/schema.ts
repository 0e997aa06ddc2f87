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
