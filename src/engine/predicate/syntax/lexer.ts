import { excerpt, predicateError } from '../errors.ts'
import { checkTimeAfterProgress, kept } from '../work.ts'

/** The longest predicate, in bytes of UTF-8. */
export const maxPredicateBytes = 65_536

/**
 * A token: `word` is a bare word or keyword, `name` a quoted identifier (without its quotes), `string` and `hex`
 * literals (without quotes), `number` a number as written, `symbol` everything else, `end` the end.
 */
export interface Token {
  readonly kind: 'word' | 'name' | 'string' | 'hex' | 'number' | 'symbol' | 'end'
  readonly text: string
  readonly at: number
  readonly end: number
  /** For a `name`: its quote character. */
  readonly quote?: '`' | '"'
}

const blank = /[\t\n\v\f\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/y
const word = /[\p{Alphabetic}_@#][\p{Alphabetic}0-9_@#$]*/uy
const number = /(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?L?/y
const hexNumber = /0x[0-9a-fA-F]*/y
const symbol =
  /<=>|<>|<=|<<|>>|>=|==|!=|\|\||!~~\*|!~~|!~\*|!~|~~\*|~~|~\*|::|->>|->|\/\/|[-+*/%=<>(),.;[\]~^&|!:?{}]/y

/** Tokens between checks of the clock. */
const tokensAtOnce = 1024

/** Splits a predicate into tokens, without comments and white space. The last token is always `end`. */
export function tokenize(text: string): Token[] {
  const tokens = kept(tokenize, (): Token[] => [])
  let at = skipBlank(text, tokens.at(-1)?.end ?? 0)
  while (at < text.length) {
    const token = readToken(text, at)
    tokens.push(token)
    if (tokens.length % tokensAtOnce === 0) checkTimeAfterProgress()
    at = skipBlank(text, token.end)
  }
  tokens.push({ kind: 'end', text: '', at: text.length, end: text.length })
  return tokens
}

function readToken(text: string, at: number): Token {
  const char = text[at]!
  if (char === "'") return readQuoted(text, at, at, 'string')
  if (char === '`' || char === '"') return readQuoted(text, at, at, 'name')
  if ((char === 'x' || char === 'X') && text[at + 1] === "'") return readQuoted(text, at, at + 1, 'hex')
  const hex = match(hexNumber, text, at)
  if (hex !== undefined) return { kind: 'hex', text: hex.slice(2), at, end: at + hex.length }
  for (const [kind, pattern] of patterns) {
    const found = match(pattern, text, at)
    if (found !== undefined) return { kind, text: found, at, end: at + found.length }
  }
  const found = String.fromCodePoint(text.codePointAt(at)!)
  throw predicateError(
    text,
    at,
    `the character ${JSON.stringify(found)} has no meaning`,
    "Remove it, or put it between quotes: '…' for a string, `…` for a column.",
  )
}

const patterns = [
  ['word', word],
  ['number', number],
  ['symbol', symbol],
] as const

function match(pattern: RegExp, text: string, at: number): string | undefined {
  pattern.lastIndex = at
  return pattern.exec(text)?.[0]
}

/** Reads a quoted text, in which a doubled quote is one quote; `open` is the position of the opening quote. */
function readQuoted(text: string, at: number, open: number, kind: 'string' | 'name' | 'hex'): Token {
  const quote = text[open]!
  let value = ''
  let from = open + 1
  for (;;) {
    const close = text.indexOf(quote, from)
    if (close < 0) {
      const what = kind === 'name' ? 'the quoted name' : 'the string'
      const remedy = `Add the closing ${quote}; inside, a ${quote} is written twice (${quote}${quote}).`
      throw predicateError(text, at, `${what} ${excerpt(text, at)} that never ends`, remedy)
    }
    value += text.slice(from, close)
    if (text[close + 1] !== quote) {
      const token = { kind, text: value, at, end: close + 1 }
      return kind === 'name' ? { ...token, quote: quote as '`' | '"' } : token
    }
    value += quote
    from = close + 2
  }
}

function skipBlank(text: string, start: number): number {
  let at = start
  for (;;) {
    at += match(blank, text, at)?.length ?? 0
    if (text.startsWith('--', at)) {
      const end = text.indexOf('\n', at)
      at = end < 0 ? text.length : end + 1
    } else if (text.startsWith('/*', at)) {
      at = skipComment(text, at)
    } else {
      return at
    }
  }
}

/** The position after a block comment, which ends at the first closing mark. */
function skipComment(text: string, start: number): number {
  const end = text.indexOf('*/', start + 2)
  if (end >= 0) return end + 2
  throw predicateError(
    text,
    start,
    `the comment ${excerpt(text, start)} that never ends`,
    'Add the closing */.',
  )
}
