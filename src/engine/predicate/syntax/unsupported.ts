import { excerpt } from '../errors.ts'
import { aggregates, insteadOfAggregates } from './aggregates.ts'
import type { TokenStream } from './token-stream.ts'

const calls: Record<string, string> = {
  DISTINCT: insteadOfAggregates,
  EXISTS: 'Use IN with a list of values.',
  EXTRACT: "Use date_part('year', column).",
  CEIL: 'Compare with the bounds instead.',
  FLOOR: 'Compare with the bounds instead.',
  SUBSTR: 'Use left(text, n), right(text, n), split_part or LIKE.',
  SUBSTRING: 'Use left(text, n), right(text, n), split_part or LIKE.',
  OVERLAY: 'Use replace, left and right.',
  TRIM: 'Use btrim, ltrim or rtrim.',
  CONVERT: 'Use CAST(value AS type).',
}

const prefixes: Record<string, string> = {
  CASE: 'Write the cases as conditions joined by OR.',
  INTERVAL: 'Compare with a date or a timestamp.',
  DISTINCT: insteadOfAggregates,
  SELECT: insteadOfAggregates,
}

/** Refuses SQL that starts with a word, such as CASE or SUBSTR, and is not supported in predicates. */
export function refuseUnsupportedWord(tokens: TokenStream): void {
  const word = tokens.keyword()
  if (word === undefined) return
  const { at } = tokens.peek()
  if (tokens.isSymbol('(', 1) && Object.hasOwn(calls, word)) {
    throw tokens.unsupported(`${word}(…)`, at, calls[word]!)
  }
  // A column can have such a name: then an operator follows.
  const next = tokens.peek(1).kind
  if (
    Object.hasOwn(prefixes, word) &&
    next !== 'symbol' &&
    next !== 'end' &&
    !isInfixWord(tokens.keyword(1))
  ) {
    throw tokens.unsupported(word, at, prefixes[word]!)
  }
}

function isInfixWord(word: string | undefined): boolean {
  return word !== undefined && /^(AND|OR|IS|IN|BETWEEN|LIKE|ILIKE)$/.test(word)
}

const symbols = '<=> ~ ~* !~ !~* ~~ ~~* !~~ !~~* ^ & | -> ->> // ?'.split(' ')

const words: Record<string, string> = {
  XOR: 'Use <> on conditions.',
  DIV: 'Use /, which divides integers as integers.',
  OVERLAPS: 'Compare the bounds.',
  REGEXP: 'Use regexp_like(text, pattern).',
  RLIKE: 'Use regexp_like(text, pattern).',
  SIMILAR: 'Use LIKE or regexp_like(text, pattern).',
  GLOB: 'Use LIKE or regexp_like(text, pattern).',
  MATCH: 'Use LIKE or regexp_like(text, pattern).',
  COLLATE: 'Strings are compared byte by byte.',
  AT: 'Times are in UTC.',
  GROUP: insteadOfAggregates,
  HAVING: insteadOfAggregates,
  OVER: insteadOfAggregates,
  UNION: insteadOfAggregates,
  JOIN: insteadOfAggregates,
  ORDER: 'Give the request an order_by.',
  LIMIT: 'Give the request a limit.',
}

const instead = 'Use = <> < <= > >= + - * / % << >> || AND, OR, IN, BETWEEN, LIKE or a function.'

/** Refuses an operator of SQL that predicates do not support. */
export function refuseUnsupportedOperator(tokens: TokenStream): void {
  const { kind, text, at } = tokens.peek()
  if (kind === 'symbol' && symbols.includes(text)) {
    throw tokens.unsupported(`the operator ${excerpt(text)}`, at, instead)
  }
  const ahead = tokens.keyword() === 'NOT' ? 1 : 0
  const word = tokens.keyword(ahead)
  if (word !== undefined && Object.hasOwn(words, word)) throw tokens.unsupported(word, at, words[word]!)
}

/** Refuses a call of a function over several rows, if its name is next. */
export function refuseAggregate(tokens: TokenStream): void {
  const { text, at } = tokens.peek()
  if (!tokens.isSymbol('(', 1) || !aggregates.has(text.toLowerCase())) return
  throw tokens.unsupported(`the aggregate ${text}(…)`, at, insteadOfAggregates)
}

/** Refuses `= ANY (…)` and similar syntax, if it is next. */
export function refuseQuantifier(tokens: TokenStream): void {
  const word = tokens.keyword()
  if ((word === 'ANY' || word === 'ALL' || word === 'SOME') && tokens.isSymbol('(', 1)) {
    throw tokens.unsupported(`${word}(…)`, tokens.peek().at, 'Use IN (…) or array_has(list, value).')
  }
}
