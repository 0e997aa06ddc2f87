import { invalid } from '../../base/errors.ts'
import type { LancePackage, NativeQuery, NativeTable, TextQueryMade } from './native.ts'

/** A search for words, by an index of them. */
export type TextSearch = TextClause | SimpleText

/** The words alone. */
export interface SimpleText {
  readonly kind: 'words'
  readonly query: string
  /** Default: every column with such an index. */
  readonly columns?: readonly string[] | undefined
}

/** A part of a search that is composed. */
export type TextClause =
  | {
      readonly kind: 'match'
      readonly words: string
      readonly column: string | undefined
      readonly boost: number
      /** How many letters of a word may differ; null chooses by its length. */
      readonly fuzziness: number | null
      readonly maxExpansions: number
      readonly operator: 'AND' | 'OR'
      readonly prefixLength: number
    }
  | {
      readonly kind: 'phrase'
      readonly words: string
      readonly column: string | undefined
      readonly slop: number
    }
  | {
      readonly kind: 'boost'
      readonly positive: TextClause
      readonly negative: TextClause
      readonly negativeBoost: number
    }
  | {
      readonly kind: 'multi'
      readonly words: string
      readonly columns: readonly string[]
      readonly boosts: readonly number[] | undefined
      readonly operator: 'AND' | 'OR'
    }
  | {
      readonly kind: 'boolean'
      readonly clauses: readonly (readonly [occur: 'SHOULD' | 'MUST' | 'MUST_NOT', clause: TextClause])[]
    }

/** A search as the package takes it. */
export async function nativeText(
  lance: LancePackage,
  table: NativeTable,
  text: TextSearch,
): Promise<Parameters<NativeQuery['fullTextSearch']>[0]> {
  if (text.kind === 'words') return { query: text.query, columns: text.columns ? [...text.columns] : null }
  if (isPlain(text)) return { query: text.words, columns: null }
  if (!lacksColumn(text)) return { query: made(lance, text).inner }
  const indexes = await table.listIndices()
  const columns = indexes.filter(({ indexType }) => indexType === 'FTS').flatMap((index) => index.columns)
  if (columns.length === 0) {
    throw invalid('The table has no full-text index. Create one: createTableIndex with index_type FTS.')
  }
  return { query: made(lance, inColumns(text, columns)).inner }
}

/** Whether words are searched in all columns with nothing else asked, as the package does by itself. */
function isPlain(clause: TextClause): clause is TextClause & { readonly kind: 'match' } {
  if (clause.kind !== 'match' || clause.column !== undefined) return false
  const { fuzziness, operator, boost } = clause
  return fuzziness === 0 && operator === 'OR' && boost === 1
}

function lacksColumn(clause: TextClause): boolean {
  switch (clause.kind) {
    case 'match':
    case 'phrase':
      return clause.column === undefined
    case 'boost':
      return lacksColumn(clause.positive) || lacksColumn(clause.negative)
    case 'multi':
      return false
    case 'boolean':
      return clause.clauses.some(([, one]) => lacksColumn(one))
  }
}

/** The clause, each part of which names a column: one without is searched in each of some columns. */
function inColumns(clause: TextClause, columns: readonly string[]): TextClause {
  switch (clause.kind) {
    case 'match':
    case 'phrase': {
      if (clause.column !== undefined) return clause
      const each = columns.map((column) => ({ ...clause, column }))
      return each.length === 1
        ? each[0]!
        : { kind: 'boolean', clauses: each.map((one) => ['SHOULD', one] as const) }
    }
    case 'boost': {
      const { positive, negative } = clause
      return { ...clause, positive: inColumns(positive, columns), negative: inColumns(negative, columns) }
    }
    case 'multi':
      return clause
    case 'boolean':
      return {
        ...clause,
        clauses: clause.clauses.map(([occur, one]) => [occur, inColumns(one, columns)] as const),
      }
  }
}

/** The query of a clause, each part of which names a column. */
function made(lance: LancePackage, clause: TextClause): TextQueryMade {
  switch (clause.kind) {
    case 'match': {
      const { words, column, kind: _, ...options } = clause
      return new lance.MatchQuery(words, column!, options)
    }
    case 'phrase':
      return new lance.PhraseQuery(clause.words, clause.column!, { slop: clause.slop })
    case 'boost': {
      const { positive, negative, negativeBoost } = clause
      return new lance.BoostQuery(made(lance, positive), made(lance, negative), { negativeBoost })
    }
    case 'multi': {
      const { words, columns, boosts, operator } = clause
      return new lance.MultiMatchQuery(words, [...columns], {
        operator,
        ...(boosts && { boosts: [...boosts] }),
      })
    }
    case 'boolean':
      return new lance.BooleanQuery(clause.clauses.map(([occur, one]) => [occur, made(lance, one)]))
  }
}
