import { invalid } from '../../base/errors.ts'
import type { TextClause, TextSearch } from '../../engine/lance/index.ts'

type Fields = Readonly<Record<string, unknown>>

/** The most clauses within one another. */
const maxDepth = 16

/** The most clauses of one search. */
const maxClauses = 1_000

/**
 * The search for words that a query asks for, if any: the words alone, `{ query, columns }`, that as `string_query`, or
 * clauses as `structured_query` or `query`, as clients of the protocol send them.
 */
export function textOf(given: unknown): TextSearch | undefined {
  if (given === undefined || given === null) return undefined
  if (typeof given === 'string') return { kind: 'words', query: given }
  const {
    string_query,
    structured_query,
    query = string_query ?? structured_query,
    columns,
  } = given as Fields
  if (isObject(query)) return 'query' in query ? textOf(query) : new Clauses().read(query, 1)
  if (typeof query !== 'string' || !isColumns(columns)) throw malformed()
  return { kind: 'words', query, ...(columns && columns.length > 0 && { columns }) }
}

/** Reads the clauses of a search, and counts them. */
class Clauses {
  #count = 0

  read(given: unknown, depth: number): TextClause {
    if (!isObject(given) || depth > maxDepth || ++this.#count > maxClauses) throw malformed()
    // The protocol names every kind, and leaves all but one empty.
    const [[kind, value] = [], more] = Object.entries(given).filter(([, one]) => one != null)
    if (more !== undefined || !isObject(value)) throw malformed()
    switch (kind) {
      case 'match':
        return matchOf(value)
      case 'phrase':
        return {
          kind: 'phrase',
          words: textIn(value.terms),
          column: columnIn(value.column),
          slop: numberIn(value.slop, 0),
        }
      case 'boost':
        return {
          kind: 'boost',
          positive: this.read(value.positive, depth + 1),
          negative: this.read(value.negative, depth + 1),
          negativeBoost: numberIn(value.negative_boost, 0.5),
        }
      case 'multi_match':
        return multiOf(value)
      case 'boolean':
        return {
          kind: 'boolean',
          clauses: [
            ...this.#each('SHOULD', value.should, depth),
            ...this.#each('MUST', value.must, depth),
            ...this.#each('MUST_NOT', value.must_not, depth),
          ],
        }
    }
    throw malformed()
  }

  #each<Occur extends string>(occur: Occur, given: unknown, depth: number): [Occur, TextClause][] {
    if (given == null) return []
    if (!Array.isArray(given)) throw malformed()
    return given.map((one) => [occur, this.read(one, depth + 1)])
  }
}

function matchOf(given: Fields): TextClause & { readonly kind: 'match' } {
  return {
    kind: 'match',
    words: textIn(given.terms),
    column: columnIn(given.column),
    boost: numberIn(given.boost, 1),
    fuzziness: given.fuzziness === null ? null : numberIn(given.fuzziness, 0),
    maxExpansions: numberIn(given.max_expansions, 50),
    operator: operatorIn(given.operator),
    prefixLength: numberIn(given.prefix_length, 0),
  }
}

/** Clients send a list of columns with a boost for each; the protocol has a match for each column. */
function multiOf(given: Fields): TextClause {
  const { query, columns, boost, match_queries } = given
  if (Array.isArray(match_queries)) {
    return {
      kind: 'boolean',
      clauses: match_queries.map((one) => ['SHOULD', matchOf(isObject(one) ? one : {})] as const),
    }
  }
  if (!isColumns(columns) || columns == null) throw malformed()
  const boosts = Array.isArray(boost) ? boost.map((one) => numberIn(one, 1)) : undefined
  return { kind: 'multi', words: textIn(query), columns, boosts, operator: operatorIn(given.operator) }
}

function isObject(given: unknown): given is Fields {
  return typeof given === 'object' && given !== null && !Array.isArray(given)
}

function isColumns(given: unknown): given is readonly string[] | null | undefined {
  return given == null || (Array.isArray(given) && given.every((name) => typeof name === 'string'))
}

/** A column; undefined for all that have an index of words. */
function columnIn(given: unknown): string | undefined {
  return given == null ? undefined : textIn(given)
}

function textIn(given: unknown): string {
  if (typeof given === 'string') return given
  throw malformed()
}

function numberIn(given: unknown, otherwise: number): number {
  if (given == null) return otherwise
  if (typeof given === 'number' && Number.isFinite(given)) return given
  throw malformed()
}

function operatorIn(given: unknown): 'AND' | 'OR' {
  return typeof given === 'string' && given.toUpperCase() === 'AND' ? 'AND' : 'OR'
}

function malformed(): Error {
  return invalid(
    'full_text_query must be a text, { query, columns }, { string_query: { query, columns } }, or { query } with one of the clauses match, phrase, boost, multi_match and boolean, at most 1,000 of them and 16 within one another.',
  )
}
