import { unknownColumns } from '../../base/model/unknown-columns.ts'
import { UsageError } from '../usage.ts'
import { type Convert, converterOf, isObject, Mismatch } from './convert.ts'
import { type Source, TypeInference } from './infer.ts'
import { described, type JsonField, type JsonSchema } from './json.ts'

type Row = Readonly<Record<string, unknown>>

/** A row of CSV or JSON before type conversion, and where it is. */
export interface TextRow {
  readonly values: unknown
  /** The number of its line, or of its row, from 1. */
  readonly at: number
}

/** Rows converted to the types of their columns, and the schema. */
export interface TypedRows {
  readonly data: readonly Row[] | AsyncIterable<readonly Row[]>
  readonly schema: unknown
}

/** Called with the names of a header, and its line. */
export type ReadHeader = (names: readonly string[], at: number) => void

interface TextSource extends Pick<Source, 'isCsv' | 'label'> {
  /** Reads the rows from the first one, some at a time. CSV values are texts or null; JSON values come from `parseJson`. */
  readonly rows: (header?: ReadHeader) => AsyncGenerator<readonly TextRow[]>
  /** Whether they can be read again. */
  readonly isFile: boolean
}

/** Rows that are held in memory to find their types. Fewer are written at once. */
const fewRows = 8_192

/** Rows whose types are found together if they cannot be read again. */
const sampleRows = 65_536

/** Rows of CSV or JSON before type conversion. */
export class TextRows {
  readonly #source: TextSource

  /** Rows of JSON that were read. `label` describes where a row is, by its number from 1. */
  static of(rows: readonly unknown[], label: (row: number) => string): TextRows {
    async function* each(): AsyncGenerator<readonly TextRow[]> {
      // Values are converted in their place.
      yield rows.map((values, index) => ({
        values: isObject(values) ? { ...values } : values,
        at: index + 1,
      }))
    }
    return new TextRows({ rows: each, isCsv: false, isFile: true, label })
  }

  constructor(source: TextSource) {
    this.#source = source
  }

  /**
   * Converts the rows to the types of a schema, or to inferred types. The error for a value that its column cannot hold
   * exactly names line and column. Without a schema, the types are those of all rows. Of many rows that cannot be read
   * again, they are those of the first ones.
   */
  async typed(schema: unknown, note: Source['note'], isWhole: boolean): Promise<TypedRows> {
    const header: ReadHeader = (names, at) => {
      if (isSchema(schema)) this.#requireKnown(names, new Set(schema.fields.map(({ name }) => name)), at)
    }
    const rows = objectsOf(this.#source, header)
    const first = await take(rows, isWhole ? Number.POSITIVE_INFINITY : fewRows)
    const hasMore = first.length >= fewRows && !isWhole
    // The catalog reports what is wrong with the schema.
    if (schema !== undefined && !isSchema(schema)) return { data: first.map(({ values }) => values), schema }
    if (schema === undefined && hasMore && !this.#source.isFile)
      for (const row of await take(rows, sampleRows - first.length)) first.push(row)
    const rest = hasMore ? rows : undefined
    const fields = await this.#fields(schema?.fields, first, rest, note)
    const convert = this.#converter(fields)
    const data = rest ? converted(first, rest, convert) : first.map(convert)
    return { data, schema: fields.length === 0 ? undefined : { ...schema, fields } }
  }

  /** The given fields, with types of values where their own are null. Without any, those of all values. */
  async #fields(
    given: readonly JsonField[] | undefined,
    first: readonly ObjectRow[],
    rest: AsyncIterable<readonly ObjectRow[]> | undefined,
    note: Source['note'],
  ): Promise<readonly JsonField[]> {
    const { isCsv, isFile, label } = this.#source
    const { isOpen, toJsonSchema, toSchema, typedSchema } = await import('../../engine/arrow/index.ts')
    const known = given && toSchema({ fields: given })
    const open = known && new Set(known.fields.filter(({ type }) => isOpen(type)).map(({ name }) => name))
    if (given && open?.size === 0) return given
    const inference = new TypeInference(isCsv, open)
    if (rest && isFile) {
      for await (const rows of objectsOf(this.#source))
        for (const { values, at } of rows) inference.addFields(values, at)
    } else {
      for (const { values, at } of first) inference.addFields(values, at)
    }
    const found = inference.fields({ isCsv, label, note })
    return known ? toJsonSchema(typedSchema(known, toSchema({ fields: found }).fields)).fields : found
  }

  #converter(fields: readonly JsonField[]): (row: ObjectRow) => Row {
    const converters = new Map(fields.map(({ name, type }) => [name, converterOf(type)]))
    return ({ values, at }) => {
      // In their place: a new object for each row would take longer than all else.
      const row = values as Record<string, unknown>
      for (const name of Object.keys(row)) {
        const convert = converters.get(name)
        if (convert === undefined) this.#requireKnown(Object.keys(row), converters, at)
        else row[name] = this.#convert(convert, name, row[name], at)
      }
      return row
    }
  }

  #requireKnown(names: readonly string[], known: Known, at: number): void {
    const unknown = names.filter((name) => !known.has(name))
    if (unknown.length > 0)
      throw new UsageError(`${this.#source.label(at)}: ${unknownColumns(unknown, [...known.keys()])}`)
  }

  #convert(convert: Convert, name: string, value: unknown, at: number): unknown {
    const { label } = this.#source
    try {
      return convert(value)
    } catch (error) {
      if (!(error instanceof Mismatch)) throw error
      const column = [name, ...error.path].join('.')
      throw new UsageError(
        `${label(at)}: column ${JSON.stringify(column)} ${error.what}. Correct the value, or choose another type with --schema`,
      )
    }
  }
}

/** Names of columns. */
type Known = Pick<ReadonlyMap<string, unknown>, 'has' | 'keys'>

interface ObjectRow extends TextRow {
  readonly values: Row
}

async function* objectsOf(
  { rows, label }: TextSource,
  header?: ReadHeader,
): AsyncGenerator<readonly ObjectRow[]> {
  for await (const some of rows(header)) {
    for (const { values, at } of some)
      if (!isObject(values))
        throw new UsageError(`${label(at)} is ${kindOf(values)}, and each row must be an object`)
    yield some as readonly ObjectRow[]
  }
}

/** Reads further rows: `count` of them at least, if there are as many. */
async function take(rows: AsyncGenerator<readonly ObjectRow[]>, count: number): Promise<ObjectRow[]> {
  const taken: ObjectRow[] = []
  while (taken.length < count) {
    const { done, value } = await rows.next()
    if (done) break
    for (const row of value) taken.push(row)
  }
  return taken
}

async function* converted(
  first: ObjectRow[],
  rest: AsyncGenerator<readonly ObjectRow[]>,
  convert: (row: ObjectRow) => Row,
): AsyncGenerator<readonly Row[]> {
  try {
    while (first.length > 0) yield first.splice(0, 1024).map(convert)
    for await (const rows of rest) yield rows.map(convert)
  } finally {
    await rest.return(undefined)
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
