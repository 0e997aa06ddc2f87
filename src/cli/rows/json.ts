import { parse } from 'lossless-json'

/**
 * Parses JSON without rounding. Whole numbers become numbers, or bigints beyond the safe integers. All others become a
 * `Fraction`. Throws a `SyntaxError`.
 */
export function parseJson(text: string): unknown {
  return parse(text, undefined, { parseNumber })
}

function parseNumber(text: string): unknown {
  // Arrow integers have no negative zero.
  if (/[.eE]/.test(text) || text === '-0') return new Fraction(text)
  const number = Number(text)
  return Number.isSafeInteger(number) ? number : BigInt(text)
}

/** A column or nested field, in the protocol's JSON form of Arrow schemas. */
export interface JsonField {
  readonly name: string
  readonly nullable: boolean
  readonly type: JsonType
}

export interface JsonType {
  readonly type: string
  readonly length?: number
  readonly fields?: readonly JsonField[]
}

export interface JsonSchema {
  readonly fields: readonly JsonField[]
}

/** A JSON number with a fraction or an exponent, as it was written. */
export class Fraction {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/** A value as text for error messages, at most 60 characters. */
export function described(value: unknown): string {
  if (value instanceof Fraction) return value.text
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object' && value !== null) return 'an object'
  const text = typeof value === 'string' ? value : String(value)
  return text === '' ? 'an empty text' : text.length > 60 ? `${text.slice(0, 60)}…` : text
}
