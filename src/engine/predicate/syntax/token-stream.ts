import type { CatalogError } from '../../../base/errors.ts'
import { excerpt, predicateError } from '../errors.ts'
import { type Token, tokenize } from './lexer.ts'

/** A predicate's tokens with a current position. */
export class TokenStream {
  readonly text: string
  readonly #tokens: readonly Token[]
  /** The index of the next token. */
  index = 0

  /** Whether this is an expression for values, which may have CASE. The reference's predicates do not support it. */
  readonly ofValues: boolean

  constructor(text: string, ofValues = false) {
    this.text = text
    this.ofValues = ofValues
    this.#tokens = tokenize(text)
  }

  /** The token `ahead` positions after the current one; past the end, the end token. */
  peek(ahead = 0): Token {
    return this.#tokens[Math.min(this.index + ahead, this.#tokens.length - 1)]!
  }

  next(): Token {
    const token = this.peek()
    if (token.kind !== 'end') this.index++
    return token
  }

  /** The end of the last token taken. */
  get end(): number {
    return this.#tokens[this.index - 1]?.end ?? 0
  }

  isSymbol(symbol: string, ahead = 0): boolean {
    const token = this.peek(ahead)
    return token.kind === 'symbol' && token.text === symbol
  }

  /** The keyword `ahead` tokens after the current one, in capitals; undefined if that token is not a bare word. */
  keyword(ahead = 0): string | undefined {
    const token = this.peek(ahead)
    return token.kind === 'word' ? token.text.toUpperCase() : undefined
  }

  takeSymbol(symbol: string): boolean {
    const found = this.isSymbol(symbol)
    if (found) this.index++
    return found
  }

  /** Takes the keywords if they are next, in this order. */
  takeKeywords(...keywords: string[]): boolean {
    const found = keywords.every((keyword, ahead) => this.keyword(ahead) === keyword)
    if (found) this.index += keywords.length
    return found
  }

  expectSymbol(symbol: string): void {
    if (!this.takeSymbol(symbol)) throw this.unexpected(JSON.stringify(symbol))
  }

  expectKeyword(keyword: string): void {
    if (!this.takeKeywords(keyword)) throw this.unexpected(keyword)
  }

  /** The error that another token was found than `expected`. */
  unexpected(expected: string): CatalogError {
    const token = this.peek()
    const found =
      token.kind === 'end' ? 'it ends' : `found ${excerpt(this.text.slice(0, token.end), token.at)}`
    return predicateError(this.text, token.at, found, `Expected ${expected} there.`)
  }

  /** The error that the text at `at` is SQL that the language does not support. */
  unsupported(what: string, at: number, remedy: string): CatalogError {
    return predicateError(this.text, at, `${what} is not supported by this catalog, but stands`, remedy)
  }
}
