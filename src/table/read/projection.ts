import { type Field, type Schema, Type } from '@uwdata/flechette'
import { type AnyBatch, emptyBytes, makeBatch, partsOf } from '../../arrow/batch.ts'
import { countBits } from '../../arrow/bits.ts'
import { layoutOf } from '../../arrow/layout.ts'
import { isRowColumn } from '../../arrow/row-columns.ts'
import { sliceBatch } from '../../arrow/take/take.ts'
import { CatalogError, invalid } from '../../errors.ts'
import type { QueryOptions } from '../table-engine.ts'

/** A column of an answer: its path in the table, and its field in the answer. */
export interface Pick {
  readonly path: readonly number[]
  readonly field: Field
}

/** The requested columns; all columns by default. */
export function projection(schema: Schema, columns: QueryOptions['columns']): Pick[] {
  if (columns === undefined) return schema.fields.map((field, i) => ({ path: [i], field }))
  const named = Array.isArray(columns)
    ? columns.map((name: string): [string, string] => [name, name])
    : Object.entries(columns as Readonly<Record<string, string>>)
  if (named.length === 0)
    throw invalid('The list of columns is empty. Name at least one, or leave it out for all.')
  const seen = new Set<string>()
  return named.map(([name, path]) => {
    if (typeof path !== 'string')
      throw invalid('A column is not named by a string. Give names or field paths.')
    if (seen.has(name))
      throw invalid(`Column ${JSON.stringify(name)} is asked for twice. Name each one once.`)
    seen.add(name)
    const found = resolve(schema, path)
    return { path: found.path, field: { ...found.field, name } }
  })
}

function resolve(schema: Schema, text: string): Pick {
  const exact = schema.fields.findIndex(({ name }) => name === text)
  if (exact >= 0) return { path: [exact], field: schema.fields[exact]! }
  const path: number[] = []
  let fields: readonly Field[] = schema.fields
  let nullable = false
  let field: Field | undefined
  for (const name of splitPath(text)) {
    const index = fields.findIndex((candidate) => candidate.name === name)
    field = fields[index]
    if (field === undefined && isRowColumn(text)) {
      throw new CatalogError(
        'Unsupported',
        `${text} is not supported by this catalog, as rows have no ids of their own. Give the table a column that names its rows.`,
      )
    }
    if (field === undefined) {
      throw new CatalogError(
        'TableColumnNotFound',
        `There is no column ${JSON.stringify(text)}. The columns are ${namesOf(schema)}.`,
      )
    }
    path.push(index)
    nullable ||= field.nullable
    fields = field.type.typeId === Type.Struct ? field.type.children : []
  }
  return { path, field: { ...field!, nullable } }
}

function namesOf(schema: Schema): string {
  const names = schema.fields.map(({ name }) => JSON.stringify(name))
  return names.length <= 20
    ? names.join(', ')
    : `${names.slice(0, 20).join(', ')} and ${names.length - 20} more`
}

/** The names in a field path. Dots separate names. A name with a dot is in backticks, with its own backticks doubled. */
function splitPath(text: string): string[] {
  const part = /(?:`((?:[^`]|``)*)`|([^.`]+))(\.|$)/y
  const names: string[] = []
  while (part.lastIndex < text.length || text === '') {
    const match = part.exec(text)
    if (match === null)
      throw invalid(`${JSON.stringify(text)} is no field path. Write a.b, or \`a.b\` for a name with a dot.`)
    names.push(match[1]?.replaceAll('``', '`') ?? match[2]!)
    if (match[3] === '') return names
  }
  throw invalid(`${JSON.stringify(text)} ends in a dot. Name the field that comes after it.`)
}

/** The batches of an answer's columns, taken from the columns of a fragment. */
export function pickColumns(picks: readonly Pick[], columns: readonly (AnyBatch | undefined)[]): AnyBatch[] {
  return picks.map(({ path, field }) => {
    let batch = columns[path[0]!]!
    for (const index of path.slice(1)) batch = childWithin(batch, index, field.name)
    return batch
  })
}

/** A field of a struct, null wherever the struct is. */
function childWithin(struct: AnyBatch, index: number, name: string): AnyBatch {
  const child = sliceBatch(struct.children[index]!, 0, struct.length)
  if (struct.nullCount === 0) return child
  const { kind } = layoutOf(child.type)
  if (kind === 'null') return child
  if (kind === 'union' || kind === 'runEnds') {
    throw invalid(
      `Column ${JSON.stringify(name)} lies in a struct with nulls and cannot hold nulls itself. Ask for the struct.`,
    )
  }
  const outer = struct.validity
  const inner = child.nullCount > 0 ? child.validity : emptyBytes
  const validity = new Uint8Array(Math.ceil(child.length / 8))
  for (let i = 0; i < validity.length; i++) validity[i] = outer[i]! & (inner.length > 0 ? inner[i]! : 255)
  return makeBatch(child.type, {
    ...partsOf(child),
    validity,
    nullCount: child.length - countBits(validity, child.length),
  })
}
