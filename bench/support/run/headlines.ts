import type { Comparison, Figure } from '../figures.ts'
import type { Report } from './report.ts'

/** A line of the picture at the top. */
export interface Headline {
  readonly label: string
  readonly figure: Figure
  readonly against: readonly (Comparison & { readonly family: string })[]
}

/** Peers by what they are, whatever their settings. */
const families: readonly [RegExp, string][] = [
  [/sqlite/i, 'SQLite'],
  [/lance/i, 'LanceDB'],
  [/duckdb/i, 'DuckDB'],
  [/lmdb/i, 'bare lmdb'],
  [/http/i, 'bare node:http'],
  [/./, 'plain loop or write'],
]

/** What matters to everybody: figures with a headline, and their peers that are like for like. */
export function headlines({ answers }: Report): Headline[] {
  return answers.flatMap(({ figures }) =>
    figures.flatMap((figure) => {
      const against = figure.against
        .filter(({ as, aside }) => as === 'speed' && !aside)
        .map((one) => ({ ...one, family: families.find(([pattern]) => pattern.test(one.peer))![1] }))
      return figure.headline && against.length > 0 ? [{ label: figure.headline, figure, against }] : []
    }),
  )
}
