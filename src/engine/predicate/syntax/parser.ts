import { invalid } from '../../../base/errors.ts'
import { keptExpression, readList } from './kept-syntax.ts'
import { maxPredicateBytes } from './lexer.ts'
import { parseItems, parsePostfix, parsePrefix } from './prefix.ts'
import {
  type BinaryOperator,
  type Expression,
  makeNode,
  maxPredicateDepth,
  precedence,
  tooDeep,
} from './syntax.ts'
import { TokenStream } from './token-stream.ts'
import { parseType } from './type-syntax.ts'
import { refuseQuantifier, refuseUnsupportedOperator } from './unsupported.ts'

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
  const example = 'a condition such as `delay > 60`, or `true` for all rows'
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

const operators: Record<string, readonly [BinaryOperator, number]> = {
  '=': ['=', precedence.compare],
  '==': ['=', precedence.compare],
  '<>': ['<>', precedence.compare],
  '!=': ['<>', precedence.compare],
  '<': ['<', precedence.compare],
  '<=': ['<=', precedence.compare],
  '>': ['>', precedence.compare],
  '>=': ['>=', precedence.compare],
  '+': ['+', precedence.add],
  '-': ['-', precedence.add],
  '*': ['*', precedence.multiply],
  '/': ['/', precedence.multiply],
  '%': ['%', precedence.multiply],
  '||': ['||', precedence.multiply],
  '<<': ['<<', precedence.shift],
  '>>': ['>>', precedence.shift],
}

const keywords: Record<string, number> = {
  AND: precedence.and,
  OR: precedence.or,
  IS: precedence.is,
  IN: precedence.compare,
  BETWEEN: precedence.compare,
  LIKE: precedence.like,
  ILIKE: precedence.like,
}

/** The precedence of the next operator; 0 if there is none. */
function precedenceHere(tokens: TokenStream): number {
  const token = tokens.peek()
  if (token.kind === 'symbol') {
    if (token.text === '::') return precedence.cast
    if (Object.hasOwn(operators, token.text)) return operators[token.text]![1]
  }
  let word = tokens.keyword()
  if (word === 'NOT') {
    word = tokens.keyword(1)
    if (word === 'NULL') return precedence.is
    if (word === 'AND' || word === 'OR' || word === 'IS') word = undefined
  }
  if (word !== undefined && Object.hasOwn(keywords, word)) return keywords[word]!
  refuseUnsupportedOperator(tokens)
  return precedence.none
}

/** Parses the next operator and its right side. */
function parseInfix(parser: Parser, left: Expression, level: number): Expression {
  const { tokens } = parser
  const { text } = tokens
  const token = tokens.peek()
  if (tokens.takeSymbol('::')) {
    const to = parseType(tokens)
    return makeNode(text, left.at, tokens.end, { kind: 'cast', arg: left, to, orNull: false }, [left])
  }
  if (token.kind === 'symbol') {
    tokens.next()
    refuseQuantifier(tokens)
    const right = parser.expression(level)
    const operator = operators[token.text]![0]
    const kind = { kind: 'binary', operator, operatorAt: token.at, left, right } as const
    return makeNode(text, left.at, right.end, kind, [left, right])
  }
  if (tokens.takeKeywords('AND')) return parseChain(parser, left, 'and', 'AND')
  if (tokens.takeKeywords('OR')) return parseChain(parser, left, 'or', 'OR')
  if (tokens.takeKeywords('IS')) return parseIs(parser, left)
  const negated = tokens.takeKeywords('NOT')
  if (tokens.takeKeywords('NULL')) {
    return makeNode(text, left.at, tokens.end, { kind: 'isNull', arg: left, negated: true }, [left])
  }
  if (tokens.takeKeywords('IN')) return parseIn(parser, left, negated)
  if (tokens.takeKeywords('BETWEEN')) return parseBetween(parser, left, negated)
  const insensitive = tokens.takeKeywords('ILIKE')
  if (!insensitive) tokens.expectKeyword('LIKE')
  return parseLike(parser, left, insensitive, negated)
}

/** Parses the rest of `a AND b AND c …` into one node, so that a long chain is not deep. */
function parseChain(parser: Parser, first: Expression, kind: 'and' | 'or', keyword: string): Expression {
  const args = readList(parser, precedence[kind], () => parser.tokens.takeKeywords(keyword), [first])
  return makeNode(parser.tokens.text, first.at, args.at(-1)!.end, { kind, args }, args)
}

function parseIs(parser: Parser, arg: Expression): Expression {
  const { tokens } = parser
  const { at } = tokens.peek()
  const negated = tokens.takeKeywords('NOT')
  const word = tokens.keyword()
  if (word === 'UNKNOWN') throw tokens.unsupported('IS UNKNOWN', at, 'Use IS NULL.')
  if (word === 'DISTINCT') {
    throw tokens.unsupported('IS DISTINCT FROM', at, 'Use <>, and IS NULL for what is null.')
  }
  if (word !== 'NULL' && word !== 'TRUE' && word !== 'FALSE') {
    throw tokens.unexpected(negated ? 'NULL, TRUE or FALSE' : 'NULL, NOT NULL, TRUE or FALSE')
  }
  tokens.next()
  const { text, end } = tokens
  if (word === 'NULL') return makeNode(text, arg.at, end, { kind: 'isNull', arg, negated }, [arg])
  return makeNode(text, arg.at, end, { kind: 'isBool', arg, value: word === 'TRUE', negated }, [arg])
}

function parseIn(parser: Parser, arg: Expression, negated: boolean): Expression {
  const { tokens } = parser
  tokens.expectSymbol('(')
  const items = parseItems(parser)
  tokens.expectSymbol(')')
  return makeNode(tokens.text, arg.at, tokens.end, { kind: 'in', arg, items, negated }, [arg, ...items])
}

function parseBetween(parser: Parser, arg: Expression, negated: boolean): Expression {
  const { tokens } = parser
  const low = parser.expression(precedence.compare)
  tokens.expectKeyword('AND')
  const high = parser.expression(precedence.compare)
  const kind = { kind: 'between', arg, low, high, negated } as const
  return makeNode(tokens.text, arg.at, high.end, kind, [arg, low, high])
}

function parseLike(parser: Parser, arg: Expression, insensitive: boolean, negated: boolean): Expression {
  const { tokens } = parser
  refuseQuantifier(tokens)
  const pattern = parser.expression(precedence.like)
  let escapedBy = '\\'
  if (tokens.takeKeywords('ESCAPE')) {
    const escaping = tokens.peek()
    if (escaping.kind !== 'string' || Array.from(escaping.text).length !== 1)
      throw tokens.unexpected('the escape character as a string')
    escapedBy = tokens.next().text
  }
  const kind = { kind: 'like', arg, pattern, escapedBy, insensitive, negated } as const
  return makeNode(tokens.text, arg.at, tokens.end, kind, [arg, pattern])
}
