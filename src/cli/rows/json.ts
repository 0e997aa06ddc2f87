import { parse } from 'lossless-json'
import { Fraction } from './types.ts'

/**
 * The value of a JSON text, with numbers as they were written: whole numbers as numbers or, where these are not exact, as
 * bigints, and all others as a `Fraction`. Throws a `SyntaxError`.
 */
export function parseJson(text: string): unknown {
  return parse(text, undefined, { parseNumber })
}

function parseNumber(text: string): unknown {
  // A negative zero is no integer of Arrow.
  if (/[.eE]/.test(text) || text === '-0') return new Fraction(text)
  const number = Number(text)
  return Number.isSafeInteger(number) ? number : BigInt(text)
}
