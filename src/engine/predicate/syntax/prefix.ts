import { excerpt, predicateError } from '../errors.ts'
import { readList } from './kept-syntax.ts'
import type { Token } from './lexer.ts'
import type { Parser } from './parser.ts'
import { type Expression, makeNode, type NamePart, precedence } from './syntax.ts'
import type { TokenStream } from './token-stream.ts'
import { isTypedLiteral, parseType } from './type-syntax.ts'
import { refuseAggregate, refuseUnsupportedWord } from './unsupported.ts'

/** Parses the start of an expression: a value, a name, a call, parentheses, NOT or minus. */
export function parsePrefix(parser: Parser): Expression {
  const { tokens } = parser
  const { text } = tokens
  const token = tokens.peek()
  const { at } = token
  switch (token.kind) {
    case 'number':
      tokens.next()
      return makeNode(text, at, token.end, { kind: 'number', text: token.text })
    case 'string':
      tokens.next()
      return makeNode(text, at, token.end, { kind: 'string', value: token.text })
    case 'hex':
      tokens.next()
      return makeNode(text, at, token.end, { kind: 'hex', value: readHex(text, token) })
    case 'name':
      return parseName(parser)
    case 'word':
      return parseWord(parser)
    case 'symbol':
      return parseSymbol(parser)
    default:
      throw tokens.unexpected('a value, a column or an expression')
  }
}

function parseSymbol(parser: Parser): Expression {
  const { tokens } = parser
  const { text } = tokens
  const { at } = tokens.peek()
  if (tokens.takeSymbol('(')) {
    const inner = parser.expression(0)
    if (tokens.isSymbol(',')) {
      throw tokens.unsupported('a tuple', at, 'Compare the values one by one.')
    }
    tokens.expectSymbol(')')
    // A copy of the node: in parentheses it is no longer a plain literal or name.
    return { ...inner, at, end: tokens.end, parenthesized: true }
  }
  if (tokens.takeSymbol('[')) return parseList(parser, at)
  if (tokens.takeSymbol('-')) {
    const arg = parser.expression(precedence.multiply)
    if (arg.kind === 'number' && !arg.parenthesized && !arg.text.startsWith('-')) {
      return makeNode(text, at, arg.end, { kind: 'number', text: `-${arg.text}` })
    }
    return makeNode(text, at, arg.end, { kind: 'minus', arg }, [arg])
  }
  if (tokens.isSymbol('+')) throw tokens.unsupported('the sign "+"', at, 'Leave it out.')
  throw tokens.unexpected('a value, a column or an expression')
}

function parseWord(parser: Parser): Expression {
  const { tokens } = parser
  const { text } = tokens
  const { at } = tokens.peek()
  if (isTypedLiteral(tokens)) {
    const to = parseType(tokens)
    const value = parsePrefix(parser)
    return makeNode(text, at, tokens.end, { kind: 'cast', arg: value, to, orNull: false }, [value])
  }
  const word = tokens.keyword()
  const calls = tokens.isSymbol('(', 1)
  if (word === 'NOT' && !isColumn(tokens)) {
    tokens.next()
    const arg = parser.expression(precedence.not)
    return makeNode(text, at, arg.end, { kind: 'not', arg }, [arg])
  }
  if (word === 'NULL' || word === 'TRUE' || word === 'FALSE') {
    const { end } = tokens.next()
    if (word === 'NULL') return makeNode(text, at, end, { kind: 'null' })
    return makeNode(text, at, end, { kind: 'boolean', value: word === 'TRUE' })
  }
  if (calls && (word === 'CAST' || word === 'TRY_CAST' || word === 'SAFE_CAST')) {
    return parseCast(parser, word !== 'CAST')
  }
  if (word === 'ARRAY' && tokens.isSymbol('[', 1)) {
    tokens.next()
    tokens.next()
    return parseList(parser, at)
  }
  if (startsCase(tokens)) return parseCase(parser)
  if (isStrayOperator(tokens)) throw tokens.unexpected('a value, a column or an expression')
  refuseUnsupportedWord(tokens)
  if (!calls && word === 'CURRENT_TIME') {
    throw tokens.unsupported(word, at, 'Use now(), or `current_time` for a column of that name.')
  }
  if (!calls && (word === 'CURRENT_DATE' || word === 'CURRENT_TIMESTAMP')) {
    const { end } = tokens.next()
    return makeNode(text, at, end, { kind: 'call', name: word, args: [] })
  }
  return parseName(parser)
}

/** Parses a column's path or, if a parenthesis follows the first name, a call. */
function parseName(parser: Parser): Expression {
  const { tokens } = parser
  refuseAggregate(tokens)
  const first = tokens.next()
  if (tokens.isSymbol('(')) return parseCall(parser, first)
  const parts: NamePart[] = [namePart(first)]
  while (tokens.isSymbol('.') && isName(tokens.peek(1))) {
    tokens.next()
    parts.push(namePart(tokens.next()))
  }
  return makeNode(tokens.text, first.at, tokens.end, { kind: 'name', parts })
}

const operatorWords = /^(?:AND|OR|IN|IS|LIKE|ILIKE|BETWEEN)$/

/** Whether an operator word is in the position of a value, and is not a column's name. */
function isStrayOperator(tokens: TokenStream): boolean {
  const word = tokens.keyword()
  if (word === undefined || !operatorWords.test(word)) return false
  const next = tokens.peek(1)
  return next.kind !== 'symbol' && !operatorWords.test(tokens.keyword(1) ?? '')
}

function isName(token: Token): boolean {
  return token.kind === 'word' || token.kind === 'name'
}

function namePart(token: Token): NamePart {
  return { text: token.text, quoted: token.kind === 'name' }
}

/** How many arguments a call may have. The arguments of one row are evaluated without a pause. */
const maxArguments = 4_096

function parseCall(parser: Parser, name: Token): Expression {
  const { tokens } = parser
  tokens.expectSymbol('(')
  const args = tokens.isSymbol(')') ? [] : parseItems(parser)
  tokens.expectSymbol(')')
  if (args.length > maxArguments) {
    const problem = `${excerpt(name.text)} has ${args.length} arguments`
    throw predicateError(tokens.text, name.at, problem, `Give it at most ${maxArguments}.`)
  }
  return makeNode(tokens.text, name.at, tokens.end, { kind: 'call', name: name.text, args }, args)
}

function parseList(parser: Parser, at: number): Expression {
  const { tokens } = parser
  const items = tokens.isSymbol(']') ? [] : parseItems(parser)
  tokens.expectSymbol(']')
  return makeNode(tokens.text, at, tokens.end, { kind: 'list', items }, items)
}

/** Parses expressions separated by commas, at least one. */
export function parseItems(parser: Parser): Expression[] {
  return readList(parser, precedence.none, () => parser.tokens.takeSymbol(','))
}

function parseCast(parser: Parser, orNull: boolean): Expression {
  const { tokens } = parser
  const { at } = tokens.next()
  tokens.expectSymbol('(')
  const arg = parser.expression(0)
  tokens.expectKeyword('AS')
  const to = parseType(tokens)
  tokens.expectSymbol(')')
  return makeNode(tokens.text, at, tokens.end, { kind: 'cast', arg, to, orNull }, [arg])
}

/** Parses any number of suffixes of a value: a field (`.x`, `['x']`) or an element (`[1]`). */
export function parsePostfix(parser: Parser, start: Expression): Expression {
  const { tokens } = parser
  let value = start
  for (;;) {
    if (tokens.isSymbol('.') && isName(tokens.peek(1))) {
      tokens.next()
      value = makeField(parser, value, tokens.next().text)
    } else if (tokens.takeSymbol('[')) {
      value = parseSubscript(parser, value)
    } else {
      return value
    }
  }
}

function parseSubscript(parser: Parser, arg: Expression): Expression {
  const { tokens } = parser
  const { at } = tokens.peek()
  const index = parser.expression(precedence.pipe)
  if (tokens.isSymbol(':')) throw tokens.unsupported('a slice', at, 'Take single elements: tags[1].')
  tokens.expectSymbol(']')
  if (index.kind === 'string' && !index.parenthesized) return makeField(parser, arg, index.value)
  return makeNode(tokens.text, arg.at, tokens.end, { kind: 'element', arg, index }, [arg, index])
}

function makeField(parser: Parser, arg: Expression, name: string): Expression {
  const { tokens } = parser
  return makeNode(tokens.text, arg.at, tokens.end, { kind: 'field', arg, name }, [arg])
}

function readHex(text: string, { text: digits, at }: Token): Uint8Array {
  if (!/^[0-9a-fA-F]*$/.test(digits)) {
    const problem = `the binary literal ${excerpt(digits)} with something else than hexadecimal digits`
    throw predicateError(text, at, problem, "Write the bytes as digits 0-9 and A-F: X'00FF'.")
  }
  return Uint8Array.from(Buffer.from(digits.length % 2 === 1 ? `0${digits}` : digits, 'hex'))
}

/** Tokens after a column that is named case: its operator, or the end of its expression. */
const afterName = /^(?:AND|OR|NOT|IS|IN|BETWEEN|LIKE|ILIKE|THEN|ELSE|END|AS)$/
const beginsValue = /^[-([]$/

/** Whether the next token is CASE, and not a column of that name. */
function startsCase(tokens: TokenStream): boolean {
  if (!tokens.ofValues || tokens.keyword() !== 'CASE') return false
  if (tokens.peek(1).kind === 'end') return false
  // `CASE NOT a WHEN …` is rare, and `case NOT IN (…)` is not.
  return !isColumn(tokens) && !afterName.test(tokens.keyword(1) ?? '')
}

/** Whether the next token, CASE or NOT, is a column's name: a symbol follows with which no value begins. */
function isColumn(tokens: TokenStream): boolean {
  const next = tokens.peek(1)
  return next.kind === 'symbol' && !beginsValue.test(next.text)
}

/** Parses `CASE [operand] WHEN … THEN … [ELSE …] END`. */
function parseCase(parser: Parser): Expression {
  const { tokens } = parser
  const { at } = tokens.next()
  const operand = tokens.keyword() === 'WHEN' ? undefined : parser.expression(0)
  const branches: { when: Expression; result: Expression }[] = []
  tokens.expectKeyword('WHEN')
  do {
    const when = parser.expression(0)
    tokens.expectKeyword('THEN')
    branches.push({ when, result: parser.expression(0) })
  } while (tokens.takeKeywords('WHEN'))
  const otherwise = tokens.takeKeywords('ELSE') ? parser.expression(0) : undefined
  if (!tokens.takeKeywords('END')) throw tokens.unexpected(otherwise ? 'END' : 'WHEN, ELSE or END')
  const parts = [operand, ...branches.flatMap(({ when, result }) => [when, result]), otherwise]
  const children = parts.filter((part) => part !== undefined)
  return makeNode(tokens.text, at, tokens.end, { kind: 'case', operand, branches, otherwise }, children)
}
