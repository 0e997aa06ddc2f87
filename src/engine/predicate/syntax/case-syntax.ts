import { makeNode } from './nodes.ts'
import type { Parser } from './parser.ts'
import type { Expression } from './syntax.ts'
import type { TokenStream } from './token-stream.ts'

/** Tokens after a column that is named case: its operator, or the end of its expression. */
const afterName = /^(?:AND|OR|NOT|IS|IN|BETWEEN|LIKE|ILIKE|THEN|ELSE|END|AS)$/
const beginsValue = /^[-([]$/

/** Whether the next token is CASE, and not a column of that name. */
export function startsCase(tokens: TokenStream): boolean {
  if (!tokens.ofValues || tokens.keyword() !== 'CASE') return false
  const next = tokens.peek(1)
  if (next.kind === 'end') return false
  if (next.kind === 'symbol') return beginsValue.test(next.text)
  // `CASE NOT a WHEN …` is rare, and `case NOT IN (…)` is not.
  return !afterName.test(tokens.keyword(1) ?? '')
}

/** Parses `CASE [operand] WHEN … THEN … [ELSE …] END`. */
export function parseCase(parser: Parser): Expression {
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
