import { unsupported } from '../../base/errors.ts'
import type { LancePackage, NativeQuery, TextQueryMade } from './native.ts'

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
  | { readonly kind: 'phrase'; readonly words: string; readonly column: string; readonly slop: number }
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
export function nativeText(
  lance: LancePackage,
  text: TextSearch,
): Parameters<NativeQuery['fullTextSearch']>[0] {
  if (text.kind === 'words') return { query: text.query, columns: text.columns ? [...text.columns] : null }
  if (text.kind === 'match' && text.column === undefined) {
    requirePlain(text)
    return { query: text.words, columns: null }
  }
  return { query: made(lance, text).inner }
}

function made(lance: LancePackage, clause: TextClause): TextQueryMade {
  switch (clause.kind) {
    case 'match': {
      const { words, column, kind: _, ...options } = clause
      if (column === undefined) throw needsColumn()
      return new lance.MatchQuery(words, column, options)
    }
    case 'phrase':
      return new lance.PhraseQuery(clause.words, clause.column, { slop: clause.slop })
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

/** The package searches all columns for plain words alone. */
function requirePlain({ fuzziness, operator, boost }: TextClause & { readonly kind: 'match' }): void {
  if (fuzziness !== 0 || operator !== 'OR' || boost !== 1) throw needsColumn()
}

function needsColumn(): Error {
  return unsupported(
    'A text search with fuzziness, an operator, a boost or several clauses needs the column of each.',
    'Name it as "column".',
  )
}
