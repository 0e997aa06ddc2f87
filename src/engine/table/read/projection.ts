import { type Field, type Schema, Type } from '@uwdata/flechette'
import { CatalogError, invalid, unsupported } from '../../../base/errors.ts'
import { quote } from '../../../base/model/identifier.ts'
import { didYouMean } from '../../../base/model/nearest.ts'
import type { TimeSlice } from '../../../base/scheduling/time-slice.ts'
import type { AnyBatch } from '../../arrow/batch.ts'
import { indexOfName, onlyIndexInAnyCase } from '../../arrow/field-names.ts'
import { isRowColumn } from '../../arrow/schema.ts'
import { childWithin } from '../../arrow/take/take.ts'
import type { ValueExpression } from '../../predicate/index.ts'
import { withRowColumns } from '../scan/row-columns.ts'
import type { QueryOptions } from '../table-engine.ts'

/** A column of an answer: its field there, and its path in the table or the expression that computes it. */
export interface Pick {
  readonly field: Field
  readonly path?: readonly number[] | undefined
  readonly expression?: ValueExpression | undefined
}

/** A column of the table, or a field of a struct. */
export type ColumnPick = Pick & { readonly path: readonly number[] }

/** Compiles an expression of the answer. */
export type Compile = (text: string) => Promise<ValueExpression>

/** The requested columns; all columns of the table by default. */
export async function projection(
  schema: Schema,
  { columns, withRowId }: Projection,
  compile: Compile,
  timeSlice: TimeSlice,
): Promise<Pick[]> {
  const picks = columns === undefined ? allOf(schema) : await named(schema, columns, compile, timeSlice)
  const rowId = withRowColumns(schema).fields[schema.fields.length]!
  if (!withRowId || picks.some(({ path }) => path?.[0] === schema.fields.length)) return picks
  if (picks.some(({ field }) => field.name === rowId.name)) {
    throw invalid('The answer has a column _rowid of the table, so row ids have no place. Name it otherwise.')
  }
  return [...picks, { path: [schema.fields.length], field: rowId }]
}

type Projection = { readonly columns?: QueryOptions['columns']; readonly withRowId?: boolean | undefined }

function allOf(schema: Schema): Pick[] {
  return schema.fields.map((field, i) => ({ path: [i], field }))
}

async function named(
  schema: Schema,
  columns: NonNullable<QueryOptions['columns']>,
  compile: Compile,
  timeSlice: TimeSlice,
): Promise<Pick[]> {
  const named = Array.isArray(columns)
    ? columns.map((name: string): [string, string] => [name, name])
    : Object.entries(columns as Readonly<Record<string, string>>)
  if (named.length === 0)
    throw invalid('The list of columns is empty. Name at least one, or leave it out for all.')
  const seen = new Set<string>()
  const picks: Pick[] = []
  for (const [name, text] of named) {
    if (typeof text !== 'string')
      throw invalid('A column is not named by a string. Give names, field paths or expressions.')
    if (seen.has(name)) throw invalid(`Column ${quote(name)} is asked for twice. Name each one once.`)
    seen.add(name)
    const found = await pickOf(schema, text, compile, !Array.isArray(columns))
    picks.push({ ...found, field: { ...found.field, name } })
    if (timeSlice.due) await timeSlice.rest()
  }
  return picks
}

/** A column by its name or path, or else an expression. As in the reference, an aliased name may be in any case. */
async function pickOf(schema: Schema, text: string, compile: Compile, isAliased: boolean): Promise<Pick> {
  const column =
    findPath(schema, text) ?? (isAliased && !text.startsWith('`') ? inOtherCase(schema, text) : undefined)
  if (column !== undefined) return column
  // A misspelled name is an unknown column, not an expression.
  if (isName.test(text) && !isConstant.test(text)) return resolve(schema, text)
  const expression = await compile(text)
  const { type, nullable, path } = expression
  const field: Field = { name: text, type, nullable, metadata: new Map() }
  return path === undefined ? { expression, field } : { path, field }
}

const isName =
  /^(?:[\p{Alphabetic}_][\p{Alphabetic}\p{Number}_]*|`(?:[^`]|``)*`)(?:\.(?:[\p{Alphabetic}_][\p{Alphabetic}\p{Number}_]*|`(?:[^`]|``)*`))*$/u
const isConstant = /^(?:null|true|false|current_date|current_timestamp)$/i

/** The column or struct field at a path. Throws `TableColumnNotFound` if there is none. */
export function resolve(schema: Schema, text: string): ColumnPick {
  const found = findPath(schema, text)
  if (found !== undefined) return found
  splitPath(text)
  if (isRowColumn(text)) {
    throw unsupported(`${text} is not supported by this catalog.`, 'Name rows by _rowid.')
  }
  throw noColumn(schema, text)
}

/** The error for a name of no column, with the nearest one and all that there are. */
export function noColumn(schema: Schema, text: string): CatalogError {
  const names = schema.fields.map(({ name }) => name)
  return new CatalogError(
    'TableColumnNotFound',
    `There is no column ${quote(text)}. ${didYouMean(text, names)}The columns are ${namesOf(schema)}.`,
  )
}

/** The column or struct field at a path; undefined if there is none. */
function findPath(schema: Schema, text: string): ColumnPick | undefined {
  const { fields: all } = withRowColumns(schema)
  const exact = indexOfName(all, text)
  if (exact >= 0) return { path: [exact], field: all[exact]! }
  const names = pathNames(text)
  if (typeof names === 'string') return undefined
  const path: number[] = []
  let fields: readonly Field[] = schema.fields
  let nullable = false
  let field: Field | undefined
  for (const name of names) {
    const index = indexOfName(fields, name)
    field = fields[index]
    if (field === undefined) return undefined
    path.push(index)
    nullable ||= field.nullable
    fields = field.type.typeId === Type.Struct ? field.type.children : []
  }
  return { path, field: { ...field!, nullable } }
}

/** The only column with the name in another case, perhaps in backticks; undefined if there is none, or several. */
export function inOtherCase(schema: Schema, text: string): ColumnPick | undefined {
  const name = /^`(?:[^`]|``)*`$/.test(text) ? text.slice(1, -1).replaceAll('``', '`') : text
  const index = onlyIndexInAnyCase(schema.fields, name)
  return index < 0 ? undefined : { path: [index], field: schema.fields[index]! }
}

export function namesOf(schema: Schema): string {
  const names = schema.fields.map(({ name }) => quote(name))
  return names.length <= 20
    ? names.join(', ')
    : `${names.slice(0, 20).join(', ')} and ${names.length - 20} more`
}

/** The names in a field path, separated by dots. A name with a dot is in backticks, with its own backticks doubled. */
export function splitPath(text: string): string[] {
  const names = pathNames(text)
  if (typeof names === 'string') throw invalid(names)
  return names
}

/** The names in a field path, or what is wrong with it. Most texts that are none are expressions. */
function pathNames(text: string): string[] | string {
  const part = /(?:`((?:[^`]|``)*)`|([^.`]+))(\.|$)/y
  const names: string[] = []
  while (part.lastIndex < text.length || text === '') {
    const match = part.exec(text)
    if (match === null) return `${quote(text)} is no field path. Write a.b, or \`a.b\` for a name with a dot.`
    names.push(match[1]?.replaceAll('``', '`') ?? match[2]!)
    if (match[3] === '') return names
  }
  return `${quote(text)} ends in a dot. Name the field that comes after it.`
}

/** The values at a path, taken from the columns of a fragment. */
export function batchAt(path: readonly number[], name: string, columns: readonly (AnyBatch | undefined)[]) {
  let batch = columns[path[0]!]!
  for (const index of path.slice(1)) batch = childWithin(batch, index, name)
  return batch
}
