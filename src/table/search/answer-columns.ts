import { type Field, float32, int32, type Schema } from '@uwdata/flechette'
import { invalid } from '../../errors.ts'
import { type Compile, type Pick, projection } from '../read/projection.ts'
import type { QueryOptions } from '../table-engine.ts'

/** The column of distances, in answers and in filters after a search. */
export const distanceColumn = '_distance'

/** The columns of a search's answer. */
export interface SearchColumns {
  readonly fields: readonly Field[]
  /** Of each field, the pick it comes from, or what of the search it holds. */
  readonly from: readonly (number | 'distance' | 'query')[]
  readonly picks: readonly Pick[]
}

/**
 * The columns as LanceDB has them. Where there are several vectors, the number of the vector comes first. The columns
 * that were asked for follow. The distance comes last, unless it was asked for in a place of its own.
 */
export async function answerColumns(
  schema: Schema,
  { columns, withRowId }: Readonly<{ [N in 'columns' | 'withRowId']?: QueryOptions[N] }>,
  hasSeveral: boolean,
  compile: Compile,
): Promise<SearchColumns> {
  if (schema.fields.some(({ name }) => name === distanceColumn)) {
    throw invalid(
      `The table has a column ${distanceColumn} of its own, where a search answers distances. Search a copy of the table in which it has another name.`,
    )
  }
  const named = columns === undefined ? undefined : namesOf(columns)
  const wanted = named?.filter(([, path]) => path !== distanceColumn)
  if (named && wanted?.length === 0 && named.length > 0)
    return withOwn(named, withRowId ? await projection(schema, { columns: ['_rowid'] }, compile) : [])
  const stored =
    wanted && (Array.isArray(columns) ? wanted.map(([name]) => name) : Object.fromEntries(wanted))
  const picks = await projection(schema, { columns: stored, withRowId }, compile)
  return withOwn(named ?? schema.fields.map(({ name }) => [name, name] as const), picks)

  function withOwn(asked: readonly (readonly [string, string])[], picks: readonly Pick[]): SearchColumns {
    const fields: Field[] = []
    const from: SearchColumns['from'][number][] = []
    if (hasSeveral) add(int('query_index'), 'query')
    let place = 0
    for (const [name, path] of asked) {
      if (path === distanceColumn) add(float(name), 'distance')
      else add(picks[place]!.field, place++)
    }
    if (!from.includes('distance')) add(float(distanceColumn), 'distance')
    // The id of the row, where that was asked for besides.
    for (; place < picks.length; place++) add(picks[place]!.field, place)
    return { fields, from, picks }

    function add(field: Field, source: SearchColumns['from'][number]): void {
      if (fields.some(({ name }) => name === field.name)) {
        throw invalid(
          `The answer would have two columns ${JSON.stringify(field.name)}. Give one of them another name.`,
        )
      }
      fields.push(field)
      from.push(source)
    }
  }
}

function namesOf(columns: NonNullable<QueryOptions['columns']>): (readonly [string, string])[] {
  return Array.isArray(columns)
    ? columns.map((name: string) => [name, name] as const)
    : Object.entries(columns as Readonly<Record<string, string>>)
}

function float(name: string): Field {
  return { name, type: float32(), nullable: true, metadata: null as never }
}

function int(name: string): Field {
  return { name, type: int32(), nullable: false, metadata: null as never }
}
