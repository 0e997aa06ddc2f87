import {
  binary,
  bool,
  type DataType,
  dateDay,
  decimal,
  float32,
  float64,
  int8,
  int16,
  int32,
  int64,
  TimeUnit,
  timestamp,
  uint8,
  uint16,
  uint32,
  uint64,
  utf8,
} from '@uwdata/flechette'
import { excerpt, predicateError } from '../errors.ts'
import type { CastType } from './syntax.ts'
import type { TokenStream } from './token-stream.ts'

const simple: Record<string, () => DataType> = {
  STRING: utf8,
  BINARY: binary,
  BYTES: binary,
  FLOAT: float32,
  DOUBLE: float64,
  BOOLEAN: bool,
  TINYINT: int8,
  SMALLINT: int16,
  INT: int32,
  INTEGER: int32,
  BIGINT: int64,
  DATE: dateDay,
}

const unsigned: Record<string, () => DataType> = {
  TINYINT: uint8,
  SMALLINT: uint16,
  INT: uint32,
  INTEGER: uint32,
  BIGINT: uint64,
}

const timestampUnits: Record<string, TimeUnitValue> = {
  0: TimeUnit.SECOND,
  3: TimeUnit.MILLISECOND,
  6: TimeUnit.MICROSECOND,
  9: TimeUnit.NANOSECOND,
}

type TimeUnitValue = (typeof TimeUnit)[keyof typeof TimeUnit]

const known =
  'STRING, BINARY, BOOLEAN, TINYINT, SMALLINT, INT and BIGINT (each also UNSIGNED), FLOAT, DOUBLE, '
const all = `${known}DECIMAL(precision, scale), DATE, TIMESTAMP(0, 3, 6 or 9) and DATETIME`

/** Whether the next tokens are a type name and a string: a typed literal such as `DATE '2024-01-01'`. */
export function isTypedLiteral(tokens: TokenStream): boolean {
  const name = tokens.keyword()
  if (name === undefined || !isTypeName(name)) return false
  if (tokens.peek(1).kind === 'string') return true
  if (tokens.isSymbol('(', 1)) {
    return tokens.peek(2).kind === 'number' && tokens.isSymbol(')', 3) && tokens.peek(4).kind === 'string'
  }
  return tokens.keyword(1) === 'UNSIGNED' && tokens.peek(2).kind === 'string'
}

function isTypeName(name: string): boolean {
  return Object.hasOwn(simple, name) || /^(TIMESTAMP|DATETIME|DECIMAL|NUMERIC|DEC|TIME)$/.test(name)
}

/** Parses the name of a type for a cast. */
export function parseType(tokens: TokenStream): CastType {
  const token = tokens.peek()
  const name = tokens.keyword()
  if (name === undefined) throw tokens.unexpected(`the name of a type: ${all}`)
  if (name === 'TIMESTAMP' || name === 'DATETIME') return parseTimestamp(tokens)
  if (name === 'DECIMAL') return everywhere(parseDecimal(tokens))
  const make = Object.hasOwn(simple, name) ? simple[name] : undefined
  if (make === undefined) {
    const problem = `the type ${excerpt(token.text)}, which values cannot be cast to,`
    throw predicateError(tokens.text, token.at, problem, `Use one of ${all}.`)
  }
  tokens.next()
  if (tokens.takeKeywords('UNSIGNED')) {
    const make = unsigned[name]
    if (make) return everywhere(make())
    throw predicateError(tokens.text, token.at, `${name} UNSIGNED, which is no type,`, `Use one of ${all}.`)
  }
  if (name !== 'DATE' && name !== 'BOOLEAN' && tokens.isSymbol('(')) parseArguments(tokens)
  return everywhere(make())
}

function everywhere(type: DataType): CastType {
  return { type, inArgument: type }
}

function parseTimestamp(tokens: TokenStream): CastType {
  const { at } = tokens.next()
  const [digits] = tokens.isSymbol('(') ? parseArguments(tokens) : []
  const unit = digits === undefined ? TimeUnit.MICROSECOND : timestampUnits[digits]
  if (unit === undefined) {
    const problem = `a timestamp of precision ${excerpt(digits ?? '')}`
    throw predicateError(tokens.text, at, problem, 'Use 0, 3, 6 or 9 digits of a second.')
  }
  if (tokens.keyword() === 'WITH' || tokens.keyword() === 'WITHOUT') {
    throw tokens.unsupported('a timestamp with a time zone', at, 'Cast to TIMESTAMP; times are in UTC.')
  }
  return { type: timestamp(unit), inArgument: timestamp(digits === undefined ? TimeUnit.NANOSECOND : unit) }
}

function parseDecimal(tokens: TokenStream): DataType {
  const { at } = tokens.next()
  const [precision, scale] = tokens.isSymbol('(') ? parseArguments(tokens).map(Number) : []
  if (precision === undefined || scale === undefined) {
    throw predicateError(tokens.text, at, 'DECIMAL without precision and scale', 'Write DECIMAL(10, 2).')
  }
  if (precision < 1 || precision > 38 || scale > precision) {
    const remedy = 'The precision is 1 to 38 digits, of which the scale are decimals.'
    throw predicateError(tokens.text, at, `DECIMAL(${precision}, ${scale})`, remedy)
  }
  return decimal(precision, scale, 128)
}

function parseArguments(tokens: TokenStream): string[] {
  const numbers: string[] = []
  tokens.expectSymbol('(')
  do {
    const token = tokens.peek()
    if (token.kind !== 'number' || !/^\d{1,9}$/.test(token.text)) throw tokens.unexpected('a whole number')
    numbers.push(String(Number(tokens.next().text)))
  } while (tokens.takeSymbol(','))
  tokens.expectSymbol(')')
  return numbers
}
