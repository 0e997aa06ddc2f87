import { type Field, int32, type Schema } from '@uwdata/flechette'
import { invalid } from '../../../base/errors.ts'
import { quote } from '../../../base/model/identifier.ts'
import type { TimeSlice } from '../../../base/scheduling/time-slice.ts'
import type { ValueExpression, WorkBudget } from '../../predicate/index.ts'
import { noMetadata } from '../columns/field-tree.ts'
import { type Compile, type Pick, projection } from '../read/projection.ts'
import { withRowColumns } from '../scan/row-columns.ts'
import type { QueryOptions } from '../table-engine.ts'
import { DistanceInputs, distanceColumn, distanceField, withDistance } from './distance-column.ts'

/** A column that is computed from distances, once the rows are found. */
export interface DistanceExpression {
  readonly expression: ValueExpression
  readonly budget: WorkBudget
  readonly inputs: DistanceInputs
  /** The first pick of the inputs. */
  readonly first: number
  /** The pick with the position of each row, for errors. */
  readonly offsets: number
}

/** The columns of a search's answer. */
export interface SearchColumns {
  readonly fields: readonly Field[]
  /** The source of each field: a pick, the search, or a computation. */
  readonly from: readonly (number | 'distance' | 'query' | DistanceExpression)[]
  /** The columns to fetch from the table. */
  readonly picks: readonly Pick[]
}

/**
 * The columns in LanceDB's order. With several vectors, the number of the vector is first. The requested columns
 * follow. The distance is last, unless it was requested in another position.
 */
export async function answerColumns(
  schema: Schema,
  { columns, withRowId }: Readonly<{ [N in 'columns' | 'withRowId']?: QueryOptions[N] }>,
  hasSeveral: boolean,
  compile: (text: string, schema: Schema) => Promise<ValueExpression>,
  timeSlice: TimeSlice,
): Promise<SearchColumns> {
  if (schema.fields.some(({ name }) => name === distanceColumn)) {
    throw invalid(
      `The table has a column ${distanceColumn} of its own, where a search answers distances. Search a copy of the table in which it has another name.`,
    )
  }
  const list = new ColumnList(schema)
  const compiled: Compile = async (text) => {
    if (!asksDistance.test(text)) return compile(text, schema)
    // The distance alone, in parentheses, is a path if the table has no such column.
    const expression = { ...(await compile(text, withDistance(schema))), path: undefined }
    list.ofDistances.add(expression)
    return expression
  }
  const named = columns === undefined ? undefined : namesOf(columns)
  const wanted = named?.filter(([, path]) => path !== distanceColumn)
  let picks: readonly Pick[] = []
  if (wanted === undefined || wanted.length > 0 || named!.length === 0) {
    const stored =
      wanted && (Array.isArray(columns) ? wanted.map(([name]) => name) : Object.fromEntries(wanted))
    picks = await projection(schema, { columns: stored, withRowId }, compiled, timeSlice)
  } else if (withRowId) picks = await projection(schema, { columns: ['_rowid'] }, compiled, timeSlice)
  if (hasSeveral) list.add(int('query_index'), 'query')
  let index = 0
  for (const [name, path] of named ?? schema.fields.map(({ name }) => [name, name] as const)) {
    if (path === distanceColumn) list.add(distanceField(name), 'distance')
    else list.addPick(picks[index++]!)
  }
  if (!list.from.includes('distance')) list.add(distanceField(), 'distance')
  // The row id, if it was requested in addition.
  for (; index < picks.length; index++) list.addPick(picks[index]!)
  return list
}

/** Columns that are added one after the other. */
class ColumnList implements SearchColumns {
  readonly fields: Field[] = []
  readonly from: SearchColumns['from'][number][] = []
  readonly picks: Pick[] = []
  /** The expressions that read distances. */
  readonly ofDistances = new Set<ValueExpression>()
  readonly #schema: Schema

  constructor(schema: Schema) {
    this.#schema = schema
  }

  addPick(pick: Pick): void {
    const { expression, field } = pick
    if (expression === undefined || !this.ofDistances.has(expression)) {
      this.add(field, this.picks.push(pick) - 1)
      return
    }
    const offset = this.#schema.fields.length + 1
    const rowOffset = { path: [offset], field: withRowColumns(this.#schema).fields[offset]! }
    const inputs = new DistanceInputs(this.#schema, expression.columns)
    const first = this.picks.length
    const offsets = this.picks.push(...inputs.picks, rowOffset) - 1
    this.add(field, { expression, budget: expression.budget(), inputs, first, offsets })
  }

  add(field: Field, source: SearchColumns['from'][number]): void {
    if (this.fields.some(({ name }) => name === field.name)) {
      throw invalid(`The answer would have two columns ${quote(field.name)}. Give one of them another name.`)
    }
    this.fields.push(field)
    this.from.push(source)
  }
}

const asksDistance = /\b_distance\b/i

function namesOf(columns: NonNullable<QueryOptions['columns']>): (readonly [string, string])[] {
  return Array.isArray(columns)
    ? columns.map((name: string) => [name, name] as const)
    : Object.entries(columns as Readonly<Record<string, string>>)
}

function int(name: string): Field {
  return { name, type: int32(), nullable: false, metadata: noMetadata }
}
