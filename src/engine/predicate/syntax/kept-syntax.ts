import { afterPart, keep, recall } from '../work.ts'
import type { Parser } from './parser.ts'
import type { Expression } from './syntax.ts'
import type { TokenStream } from './token-stream.ts'

/*
 * What was read of a long predicate is kept by the place where it begins, as reading pauses, and is then done again.
 */

/** Tokens of an expression that is kept; shorter ones are read again. */
const keptTokens = 32

interface KeptExpression {
  readonly expression: Expression
  /** The place of the token after it. */
  readonly end: number
}

/** What binds tighter than `precedence` at this place: as it was read before, or read now. */
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

/** What was read of a list, and the place of the token after it. */
interface KeptList {
  readonly items: Expression[]
  end: number
}

/**
 * Reads an expression, and more as long as `separated` finds something between them. They follow `first`, which was
 * read with what separates it from the others.
 */
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
