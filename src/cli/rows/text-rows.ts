import { UsageError } from '../usage.ts'
import { type Convert, converterOf, isObject, Mismatch } from './convert.ts'
import { described, Fraction, type JsonField, type JsonSchema, type JsonType } from './json.ts'
import { parseDate, parseTimestamp } from './time.ts'

type Row = Readonly<Record<string, unknown>>

/** Rows converted to the types of their columns, and the schema. */
export interface TypedRows {
  readonly data: readonly Row[]
  readonly schema: unknown
}

/** Rows of CSV or JSON before type conversion. */
export class TextRows {
  readonly #rows: readonly Row[]
  readonly #isCsv: boolean
  readonly #rowLabel: RowLabel

  /** CSV values are texts or null; JSON values come from `parseJson`. */
  constructor(rows: readonly unknown[], isCsv: boolean, rowLabel: RowLabel) {
    for (const [row, value] of rows.entries()) {
      if (!isObject(value))
        throw new UsageError(`${rowLabel(row)} is ${kindOf(value)}, and each row must be an object`)
    }
    this.#rows = rows as readonly Row[]
    this.#isCsv = isCsv
    this.#rowLabel = rowLabel
  }

  /**
   * Converts the rows to the types of a schema, or to inferred types. The error for a value that its column cannot hold
   * exactly names line and column.
   */
  typed(schema: unknown, note: Note): TypedRows {
    // The catalog reports what is wrong with the schema.
    if (schema !== undefined && !isSchema(schema)) return { data: this.#rows, schema }
    const fields = schema?.fields ?? inferFields(this.#rows, this.#isCsv, this.#rowLabel, note)
    const converters = new Map(fields.map(({ name, type }) => [name, converterOf(type)]))
    const data = this.#rows.map((values, row) =>
      Object.fromEntries(
        Object.entries(values).map(([name, value]) => [
          name,
          this.#convert(converters.get(name), name, value, row, fields),
        ]),
      ),
    )
    return { data, schema: schema ?? (fields.length === 0 ? undefined : { fields }) }
  }

  #convert(
    convert: Convert | undefined,
    name: string,
    value: unknown,
    row: number,
    fields: readonly JsonField[],
  ): unknown {
    if (convert === undefined) {
      const known = fields.map((field) => field.name).join(', ')
      throw new UsageError(
        `${this.#rowLabel(row)} has column ${JSON.stringify(name)}, which is not among the table's columns: ${known}`,
      )
    }
    try {
      return convert(value)
    } catch (error) {
      if (!(error instanceof Mismatch)) throw error
      const column = [name, ...error.path].join('.')
      throw new UsageError(
        `${this.#rowLabel(row)}: column ${JSON.stringify(column)} ${error.what}. Correct the value, or choose another type with --schema`,
      )
    }
  }
}

function isSchema(schema: unknown): schema is JsonSchema {
  const { fields } = (schema ?? {}) as { fields?: unknown }
  return Array.isArray(fields) && fields.every((field) => typeof field?.name === 'string')
}

function kindOf(value: unknown): string {
  if (typeof value === 'number' || typeof value === 'bigint') return 'a whole number'
  return Array.isArray(value) ? 'a list' : described(value)
}

/** The values of one column or nested field, each with its row number. */
interface Cells {
  readonly values: readonly unknown[]
  readonly rows: readonly number[]
}

/** Reports a remark about inferred types to the user. */
type Note = (text: string) => void

interface Source {
  readonly isCsv: boolean
  readonly rowLabel: RowLabel
  readonly note: Note
}

/** Describes where a row is in its source, such as `line 3 of flights.csv`. */
type RowLabel = (row: number) => string

type Kind =
  | 'a whole number'
  | 'a number'
  | 'a boolean'
  | 'a date'
  | 'a time'
  | 'a time in nanoseconds'
  | 'a time with a zone'
  | 'a time with a zone in nanoseconds'
  | 'text'
  | 'a list'
  | 'an object'

/** The type of a column that has values of these kinds only. */
const types: readonly (readonly [kinds: readonly Kind[], type: string])[] = [
  [['a whole number'], 'int64'],
  [['a whole number', 'a number'], 'double'],
  [['a boolean'], 'bool'],
  [['a date'], 'date32:day'],
  [['a time'], 'timestamp:us:-'],
  [['a time', 'a time in nanoseconds'], 'timestamp:ns:-'],
  [['a time with a zone'], 'timestamp:us:UTC'],
  [['a time with a zone', 'a time with a zone in nanoseconds'], 'timestamp:ns:UTC'],
]

/** Kinds that JSON writes as strings. */
const stringKinds: ReadonlySet<Kind> = new Set<Kind>([
  'a date',
  'a time',
  'a time in nanoseconds',
  'a time with a zone',
  'a time with a zone in nanoseconds',
  'text',
])

/** Infers the columns of rows, each with the common type of its values. */
function inferFields(
  rows: readonly Readonly<Record<string, unknown>>[],
  isCsv: boolean,
  rowLabel: RowLabel,
  note: Note,
): JsonField[] {
  const numbers = rows.map((_, row) => row)
  return fieldsOf({ values: rows, rows: numbers }, { isCsv, rowLabel, note }, '')
}

function fieldsOf({ values, rows }: Cells, source: Source, path: string): JsonField[] {
  const objects = values as readonly Readonly<Record<string, unknown>>[]
  const names = new Set<string>()
  for (const object of objects) for (const name of Object.keys(object)) names.add(name)
  return [...names].map((name) => {
    const cells = {
      values: objects.map((object) => (Object.hasOwn(object, name) ? object[name] : null)),
      rows,
    }
    return { name, nullable: true, type: inferType(cells, source, path + name) }
  })
}

function inferType(cells: Cells, source: Source, path: string): JsonType {
  const { isCsv, rowLabel } = source
  const kinds = kindsOf(cells, isCsv)
  const [[first, row] = [undefined, 0], ...others] = kinds
  if (first === undefined) return { type: 'null' }
  const found = types.find(([together]) => [...kinds.keys()].every((kind) => together.includes(kind)))
  if (found) return { type: found[1] }
  if (isCsv || [...kinds.keys()].every((kind) => stringKinds.has(kind))) {
    noteTextColumn(kinds, source, path)
    return { type: 'string' }
  }
  if (others.length > 0) {
    const [other, at] = others.find(([kind]) => !(stringKinds.has(kind) && stringKinds.has(first)))!
    throw new UsageError(
      `${rowLabel(at)}: column ${JSON.stringify(path)} holds ${shown(other)}, and ${rowLabel(row).replace(/ of .*/, '')} ${shown(first)}. Make them the same, or choose the column's type with --schema`,
    )
  }
  const present = withoutNulls(cells)
  if (first === 'an object') return { type: 'struct', fields: fieldsOf(present, source, `${path}.`) }
  const items = itemsOf(present)
  const type = inferType(items, source, `${path}.item`)
  return { type: 'list', fields: [{ name: 'item', nullable: true, type }] }
}

/** Kinds that a user seldom means as text. */
const seldomText: ReadonlySet<Kind> = new Set<Kind>([...stringKinds, 'a boolean'])

/** Reports why a column became text although its values look like other types. */
function noteTextColumn(kinds: ReadonlyMap<Kind, number>, { rowLabel, note }: Source, path: string): void {
  const [one, other] = [...kinds]
  if (one === undefined || other === undefined) return
  const looksAlike = [...kinds.keys()].every((kind) => kind === 'text' || !seldomText.has(kind))
  if (kinds.has('text') && looksAlike) return
  note(
    `column ${JSON.stringify(path)} is text: it holds ${one[0]} (${rowLabel(one[1])}) and ${other[0]} (${rowLabel(other[1])}). Make them the same, or choose the column's type with --schema`,
  )
}

function shown(kind: Kind): Kind {
  return stringKinds.has(kind) ? 'text' : kind
}

/** The kinds of values, each with the first row that has it. */
function kindsOf({ values, rows }: Cells, isCsv: boolean): Map<Kind, number> {
  const kinds = new Map<Kind, number>()
  for (const [i, value] of values.entries()) {
    if (value === null || value === undefined) continue
    const kind = isCsv ? kindOfField(value as string) : kindOfJson(value)
    if (!kinds.has(kind)) kinds.set(kind, rows[i]!)
    // One text makes the whole CSV column text.
    if (isCsv && kind === 'text') break
  }
  return kinds
}

const whole = /^(?:0|-?[1-9]\d*)$/
const number = /^(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d{1,4})?|NaN|-?Infinity)$/

/** Case-insensitive: spreadsheets write TRUE, and Python writes True. */
const boolean = /^(?:true|false)$/i

function kindOfField(field: string): Kind {
  if (whole.test(field)) return 'a whole number'
  if (number.test(field)) return 'a number'
  return boolean.test(field) ? 'a boolean' : kindOfText(field)
}

function kindOfText(text: string): Kind {
  // A quick check of the first characters excludes most texts.
  if (!/^[+-]?\d{4}/.test(text)) return 'text'
  if (parseDate(text) !== undefined) return 'a date'
  const instant = parseTimestamp(text)
  if (instant === undefined) return 'text'
  const kind = instant.hasZone ? 'a time with a zone' : 'a time'
  return instant.nanos % 1_000n === 0n ? kind : `${kind} in nanoseconds`
}

function kindOfJson(value: unknown): Kind {
  if (typeof value === 'number' || typeof value === 'bigint') return 'a whole number'
  if (value instanceof Fraction) return 'a number'
  if (typeof value === 'boolean') return 'a boolean'
  if (typeof value === 'string') return kindOfText(value)
  return isObject(value) ? 'an object' : 'a list'
}

function withoutNulls({ values, rows }: Cells): Cells {
  const kept = rows.map((_, i) => i).filter((i) => values[i] !== null && values[i] !== undefined)
  return { values: kept.map((i) => values[i]), rows: kept.map((i) => rows[i]!) }
}

function itemsOf({ values, rows }: Cells): Cells {
  const items: unknown[] = []
  const itemRows: number[] = []
  for (const [i, list] of values.entries()) {
    for (const item of list as readonly unknown[]) {
      items.push(item)
      itemRows.push(rows[i]!)
    }
  }
  return { values: items, rows: itemRows }
}
