import { invalid } from '../../../base/errors.ts'
import { parseInfix, precedenceHere } from './infix.ts'
import { keptExpression } from './kept-syntax.ts'
import { maxPredicateBytes } from './lexer.ts'
import { maxPredicateDepth, tooDeep } from './nodes.ts'
import { parsePostfix, parsePrefix } from './prefix.ts'
import type { Expression } from './syntax.ts'
import { TokenStream } from './token-stream.ts'

/** The functions that parts of the parser share. */
export interface Parser {
  readonly tokens: TokenStream
  /** Parses an expression as far as its operators bind tighter than `precedence`. */
  expression(precedence: number): Expression
}

/**
 * Parses a predicate. Refuses, as `InvalidInput` with the position, unsupported syntax, text after the predicate, more
 * than `maxPredicateBytes` of it and nesting beyond `maxPredicateDepth`.
 */
export function parsePredicate(text: string): Expression {
  const example = 'a condition such as `delay > 60`, or leave it out'
  return parseWhole(new TokenStream(checked(text)), example)
}

/** Parses a value expression in the same way. It may have CASE. */
export function parseValue(text: string): Expression {
  return parseWhole(new TokenStream(checked(text), true), 'a value such as `delay + 1`')
}

function parseWhole(tokens: TokenStream, example: string): Expression {
  if (tokens.peek().kind === 'end') throw invalid(`The predicate is empty. Write ${example}.`)
  const expression = makeParser(tokens).expression(0)
  if (tokens.peek().kind !== 'end') {
    throw tokens.unexpected(`an operator or the end of the ${tokens.ofValues ? 'expression' : 'predicate'}`)
  }
  return expression
}

function makeParser(tokens: TokenStream): Parser {
  let levels = 0
  const parser: Parser = {
    tokens,
    expression(precedence) {
      return keptExpression(tokens, precedence, () => read(precedence))
    },
  }

  function read(precedence: number): Expression {
    if (++levels > maxPredicateDepth) throw tooDeep(tokens.text, tokens.peek().at)
    let left = parsePostfix(parser, parsePrefix(parser))
    for (let next = precedenceHere(tokens); next > precedence; next = precedenceHere(tokens)) {
      left = parseInfix(parser, left, next)
    }
    levels--
    return left
  }

  return parser
}

function checked(text: string): string {
  // A string of n UTF-16 units is n to 3n bytes; the exact count is only needed in between.
  const bytes = text.length > maxPredicateBytes ? text.length : Buffer.byteLength(text)
  if (bytes <= maxPredicateBytes) return text
  throw invalid(
    `The predicate is ${bytes === text.length ? 'at least ' : ''}${bytes} bytes long and can be ${maxPredicateBytes}. Shorten it, for example by splitting a long IN list over several requests.`,
  )
}
