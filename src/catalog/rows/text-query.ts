import { invalid } from '../../base/errors.ts'
import type { TextSearch } from '../../engine/lance/index.ts'

/**
 * The search for words that a query asks for, if any: the words alone, `{ query, columns }`, or that as `string_query`,
 * as clients of the protocol send it.
 */
export function textOf(given: unknown): TextSearch | undefined {
  if (given === undefined || given === null) return undefined
  if (typeof given === 'string') return { query: given }
  const { string_query, query = string_query, columns } = given as Readonly<Record<string, unknown>>
  if (typeof query === 'object' && query !== null && 'query' in query) return textOf(query)
  if (typeof query !== 'string' || !isColumns(columns)) {
    throw invalid(
      'full_text_query must be a text, { query, columns }, or { string_query: { query, columns } }, where query is a text and columns a list of names.',
    )
  }
  return { query, ...(columns && columns.length > 0 && { columns }) }
}

function isColumns(given: unknown): given is readonly string[] | null | undefined {
  return given == null || (Array.isArray(given) && given.every((name) => typeof name === 'string'))
}
