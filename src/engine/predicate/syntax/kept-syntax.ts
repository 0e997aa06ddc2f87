import { afterPart, keep, recall } from '../work.ts'
import type { Parser } from './parser.ts'
import type { Expression } from './syntax.ts'
import type { TokenStream } from './token-stream.ts'

/*
 * Parsed parts of a long predicate, by start position. When parsing pauses, it starts again and reuses them.
 */

/** Tokens of an expression from which on it is kept; shorter ones are parsed again. */
const keptTokens = 32

interface KeptExpression {
  readonly expression: Expression
  /** The index of the token after it. */
  readonly end: number
}

/** Parses at this position as far as operators bind tighter than `precedence`, or returns the kept result. */
export function keptExpression(tokens: TokenStream, precedence: number, read: () => Expression): Expression {
  const start = tokens.index
  const key = placeOf(start, precedence)
  const known = recall<KeptExpression>(key)
  if (known !== undefined) {
    tokens.index = known.end
    return known.expression
  }
  const expression = read()
  if (tokens.index - start >= keptTokens) keep(key, { expression, end: tokens.index })
  return expression
}

/** The parsed part of a list, and the index of the token after it. */
interface KeptList {
  readonly items: Expression[]
  end: number
}

/** Parses expressions as long as `separated` finds a separator. They follow `first` and its separator. */
export function readList(
  parser: Parser,
  precedence: number,
  separated: () => boolean,
  first: readonly Expression[] = [],
): Expression[] {
  const { tokens } = parser
  const key = -1 - placeOf(tokens.index, precedence)
  const known = recall<KeptList>(key)
  const list = known ?? { items: [...first], end: tokens.index }
  tokens.index = list.end
  for (let more = known === undefined || separated(); more; more = separated()) {
    list.items.push(parser.expression(precedence))
    list.end = tokens.index
    keep(key, list)
    afterPart()
  }
  return list.items
}

/** Precedences are below 64. */
function placeOf(index: number, precedence: number): number {
  return index * 64 + precedence
}
