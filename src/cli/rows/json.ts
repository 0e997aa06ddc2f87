import { parse } from 'lossless-json'
import { Fraction } from './types.ts'

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
