import { UsageError } from '../usage.ts'
import { type Convert, converterOf, isObject, Mismatch } from './convert.ts'
import { inferFields, type Note, type RowLabel } from './infer.ts'
import { described, type JsonField, type JsonSchema } from './types.ts'

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
