import type { GridField } from './column-kind.ts'
import { kindOf, literalOf, writtenValue } from './column-kind.ts'
import { columnPath } from './schema.ts'

/** How a column is filtered. `value` is what the reader wrote; operators such as `null` have none. */
export interface ColumnFilter {
  readonly operator: Operator
  readonly value: string
}

export type Operator = keyof typeof operators

/** What the operators are called, in the order in which they are offered. */
export const operators = {
  has: 'contains, in any case',
  contains: 'contains',
  starts: 'begins with',
  '=': 'is',
  '<>': 'is not',
  '<': 'is less than',
  '<=': 'is at most',
  '>': 'is more than',
  '>=': 'is at least',
  between: 'lies between',
  true: 'is true',
  false: 'is false',
  empty: 'is empty',
  null: 'is null',
  filled: 'is not null',
} as const

/** What the operators look like where there is little room. */
export const operatorSigns: Readonly<Record<Operator, string>> = {
  has: 'has',
  contains: 'has Aa',
  starts: 'begins',
  '=': '=',
  '<>': '≠',
  '<': '<',
  '<=': '≤',
  '>': '>',
  '>=': '≥',
  between: 'a to b',
  true: 'true',
  false: 'false',
  empty: 'empty',
  null: 'null',
  filled: 'not null',
}

const nulls = ['null', 'filled'] as const
const comparisons = ['=', '<>', '<', '<=', '>', '>=', 'between', ...nulls] as const

/** The operators of a type, the usual one first. */
export function operatorsOf(type: string): readonly Operator[] {
  switch (kindOf(type)) {
    case 'text':
      return ['has', 'contains', 'starts', '=', '<>', 'empty', ...nulls]
    case 'flag':
      return ['true', 'false', ...nulls]
    case 'other':
      return nulls
    default:
      return comparisons
  }
}

/** Whether an operator takes a value. */
export function takesValue(operator: Operator): boolean {
  return !['true', 'false', 'empty', 'null', 'filled'].includes(operator)
}

/** The filters of columns, by their names. */
export type ColumnFilters = ReadonlyMap<string, ColumnFilter>

/** A predicate as the filter row understands it: what it did not write itself, and what it says of columns. */
export interface FilterRow {
  readonly rest: string
  readonly filters: ColumnFilters
}

/** The predicate of a filter row. An error says what is wrong with a value. */
export function writePredicate({ rest, filters }: FilterRow, columns: readonly GridField[]): string {
  const types = new Map(columns.map(({ name, type }) => [name, type]))
  const clauses = [...filters].map(([name, filter]) => writeClause(name, types.get(name) ?? '', filter))
  if (rest.trim() === '') return clauses.join(' AND ')
  return clauses.length === 0 ? rest : [`(${rest})`, ...clauses].join(' AND ')
}

/** What a filter says, as a predicate. An error says what is wrong with its value. */
export function writeClause(name: string, type: string, { operator, value }: ColumnFilter): string {
  const path = columnPath(name)
  const text = () => `'${value.replaceAll("'", "''")}'`
  switch (operator) {
    case 'has':
      return `${path} ILIKE '%${value.replace(/[\\%_]/g, '\\$&').replaceAll("'", "''")}%'`
    case 'contains':
      return `contains(${path}, ${text()})`
    case 'starts':
      return `starts_with(${path}, ${text()})`
    case 'true':
      return `${path} IS TRUE`
    case 'false':
      return `${path} IS FALSE`
    case 'empty':
      return `${path} = ''`
    case 'null':
      return `${path} IS NULL`
    case 'filled':
      return `${path} IS NOT NULL`
    case 'between': {
      const [low, high, ...more] = value.split('..')
      if (low === undefined || high === undefined || more.length > 0)
        throw new Error('Write the first and the last value with two dots between: 1..5')
      const [from, to] = [literalOf(type, low), literalOf(type, high)]
      return `${from.of(path)} BETWEEN ${from.text} AND ${to.text}`
    }
    default: {
      const literal =
        kindOf(type) === 'text' ? { of: (it: string) => it, text: text() } : literalOf(type, value)
      return `${literal.of(path)} ${operator} ${literal.text}`
    }
  }
}

/** Reads what a filter row wrote. What it would not have written so is the `rest`. */
export function readPredicate(text: string, columns: readonly GridField[]): FilterRow {
  const parts = conjuncts(text)
  const filters = new Map<string, ColumnFilter>()
  if (parts === undefined) return { rest: text, filters }
  const read: [string, ColumnFilter][] = []
  while (read.length < parts.length) {
    const clause = readClause(parts[parts.length - 1 - read.length]!, columns)
    if (clause === undefined) break
    read.unshift(clause)
  }
  const before = parts.slice(0, parts.length - read.length)
  const names = new Set(read.map(([name]) => name))
  const isOwn = before.length === 0 || (before.length === 1 && isEnclosed(before[0]!))
  if (read.length === 0 || !isOwn || names.size < read.length) return { rest: text, filters }
  return { rest: before.length === 0 ? '' : before[0]!.slice(1, -1), filters: new Map(read) }
}

function readClause(part: string, columns: readonly GridField[]): [string, ColumnFilter] | undefined {
  for (const { name, type } of columns) {
    if (!part.includes(columnPath(name))) continue
    for (const operator of operatorsOf(type)) {
      const value = takesValue(operator) ? valueIn(part, operator, type) : ''
      // What is written again from what was read is the same text, or it was read wrongly.
      if (
        value !== undefined &&
        (value !== '') === takesValue(operator) &&
        rewritten(name, type, { operator, value }) === part
      )
        return [name, { operator, value }]
    }
  }
  return undefined
}

function rewritten(name: string, type: string, filter: ColumnFilter): string | undefined {
  try {
    return writeClause(name, type, filter)
  } catch {
    return undefined
  }
}

/** The value that a clause has been written with, if it was written with this operator. */
function valueIn(part: string, operator: Operator, type: string): string | undefined {
  const plainValue = (written: string) => writtenValue(type, unquoted(written))
  if (operator === 'between') return literalsAtEnd(part, 2)?.map(plainValue).join('..')
  const [written] = literalsAtEnd(part, 1) ?? []
  if (written === undefined) return undefined
  const value = plainValue(written)
  return operator === 'has' ? value.slice(1, -1).replace(/\\([\\%_])/g, '$1') : value
}

const literal = String.raw`(?:(?:DATE |TIMESTAMP )?'(?:[^']|'')*'|CAST\('[^']*' AS [^()]*(?:\(\d+, \d+\))?\)|-?[\d.]+(?:[eE][-+]?\d+)?)`
const oneAtEnd = new RegExp(`(${literal})\\)?$`)
const twoAtEnd = new RegExp(`BETWEEN (${literal}) AND (${literal})$`)

function literalsAtEnd(part: string, count: 1 | 2): readonly string[] | undefined {
  return (count === 1 ? oneAtEnd : twoAtEnd).exec(part)?.slice(1)
}

/** The value of a literal without its quotes and its type. */
function unquoted(text: string): string {
  const [, quoted] = /^(?:DATE |TIMESTAMP |CAST\()?'(.*?)'(?: AS .*)?$/s.exec(text) ?? []
  return quoted === undefined ? text : quoted.replaceAll("''", "'")
}

/** The parts of a conjunction; undefined where `OR`, a comment or an open quote makes it something else. */
function conjuncts(text: string): readonly string[] | undefined {
  const parts: string[] = []
  let [from, depth, isBetween] = [0, 0, false]
  const tokens = /'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|--|\/\*|['"`()]|\w+/g
  for (const { 0: token, index } of text.matchAll(tokens)) {
    if (/^(?:['"`]|--|\/\*)$/.test(token)) return undefined
    if (token === '(') depth++
    if (token === ')' && --depth < 0) return undefined
    if (depth > 0) continue
    const word = token.toUpperCase()
    if (word === 'OR' || word === 'CASE') return undefined
    if (word === 'BETWEEN') isBetween = true
    else if (word === 'AND' && isBetween) isBetween = false
    else if (word === 'AND') {
      parts.push(text.slice(from, index).trim())
      from = index + token.length
    }
  }
  return depth > 0 ? undefined : [...parts, text.slice(from).trim()]
}

/** Whether one pair of parentheses encloses a whole text, which `conjuncts` has found to be balanced. */
function isEnclosed(text: string): boolean {
  if (!text.startsWith('(') || !text.endsWith(')')) return false
  let depth = 0
  for (const { 0: token, index } of text.matchAll(/'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|[()]/g)) {
    if (token === '(') depth++
    if (token === ')' && --depth === 0) return index === text.length - 1
  }
  return false
}
