import fc from 'fast-check'
import { atom } from './atoms.ts'
import { form } from './forms.ts'
import { agree } from './judges.ts'
import { Maker } from './maker.ts'
import type { Answer, Reference } from './reference.ts'
import { comparison } from './typed.ts'

/*
 * Texts that are nearly predicates: valid ones whose tokens are dropped, doubled, exchanged or put in from all that
 * SQL has. Both sides read them the same way, or both refuse.
 */

const tokens = [
  ...['(', ')', '[', ']', '{', '}', ',', '.', ':', '::', ';', '?', '$1', ':a', '@x', '\\', '#'],
  ...['+', '-', '*', '/', '%', '||', '|', '&', '^', '!', '!~', '~*', '!~*', '~~', '!~~', '~~*', '<<', '>>'],
  ...[
    '=',
    '==',
    '!=',
    '<>',
    '<',
    '<=',
    '>',
    '>=',
    '<=>',
    '=>',
    '->',
    '->>',
    '@>',
    '<@',
    '&&',
    '^@',
    '@@',
    '#>',
  ],
  ...['AND', 'OR', 'NOT', 'XOR', 'IS', 'IN', 'LIKE', 'ILIKE', 'BETWEEN', 'SYMMETRIC', 'ESCAPE', 'SIMILAR TO'],
  ...['RLIKE', 'REGEXP', 'DIV', 'MOD', 'GLOB', 'MATCH', 'OVERLAPS', 'COLLATE', 'AT TIME ZONE', 'SOME'],
  ...[
    'NULL',
    'TRUE',
    'FALSE',
    'UNKNOWN',
    'NOT NULL',
    'IS NOT NULL',
    'ISNULL',
    'NOTNULL',
    'IS NOT',
    'NORMALIZED',
  ],
  ...['DISTINCT FROM', 'IS NOT DISTINCT FROM', 'EXISTS', 'SELECT 1', 'CASE', 'WHEN', 'THEN', 'ELSE', 'END'],
  ...[
    'CAST(',
    'TRY_CAST(',
    'SAFE_CAST(',
    'CONVERT(',
    'AS',
    'INTERVAL',
    'DATE',
    'TIMESTAMP',
    'TIME',
    'DATETIME',
  ],
  ...[
    'EXTRACT(',
    'POSITION(',
    'SUBSTRING(',
    'TRIM(',
    'OVERLAY(',
    'CEIL(',
    'FLOOR(',
    'FROM',
    'FOR',
    'TO',
    'OVER ()',
  ],
  ...['ARRAY[', 'STRUCT(', 'MAP', 'ROW(', 'LIMIT 1', 'ORDER BY', 'GROUP BY', 'HAVING', 'UNION', 'WHERE'],
  ...["'a'", "''", "'it''s'", "'a' 'b'", "N'a'", "E'a\\n'", "U&'\\0061'", "X'61'", "x'6'", "B'01'", '"a"'],
  ...[
    '`i`',
    '"i"',
    '[i]',
    't.i',
    'I',
    'i',
    'j',
    's',
    'b',
    'c',
    'f',
    'd',
    'ts',
    'tz',
    'dec',
    'tags',
    'li',
    'st',
    'st.x',
  ],
  ...[
    '0',
    '1',
    '2',
    '-1',
    '1.5',
    '.5',
    '5.',
    '1e2',
    '1E+2',
    '1e',
    '0x1F',
    '0b1',
    '1_000',
    '1L',
    '1d',
    '00',
    '1.',
    '1..2',
  ],
  ...[
    '/* x */',
    '/* /* y */ */',
    '-- z\n',
    '--',
    '/*',
    '*/',
    '#c',
    '// c',
    '\t',
    '\n',
    '\u00a0',
    '\u2003',
    '\ufeff',
    '\r',
  ],
  ...['upper(', 'length(', 'abs(', 'coalesce(', 'concat(', 'current_date', 'pi()', 'lower('],
] as const

/** Each token of a text, the blanks between them left out. */
function tokensOf(text: string): string[] {
  return text.match(/'(?:[^']|'')*'|"[^"]*"|`[^`]*`|\w+|\|\||[<>=!]=|<>|::|\S/gu) ?? []
}

export const soups: fc.Arbitrary<string> = fc.gen().map((draw) => {
  const m = new Maker(draw)
  const parts = tokensOf(start(m))
  for (let changes = 1 + m.number(2); changes > 0 && parts.length > 0; changes--) change(m, parts)
  return parts.join(m.chance(90) ? ' ' : m.pick('\n', '\t')).replaceAll(/\s?\(\s?/g, '(')
})

function start(m: Maker): string {
  return m.one(
    () => atom(m),
    () => form(m),
    () => {
      const { term, of } = comparison(m)
      return of(term.text)
    },
    () =>
      `${m.pick('i', 's', 'b', 'j + 1')} ${m.pick('=', '<', 'IN', 'IS', 'LIKE')} ${m.pick('1', 'j', 't', '(1)', 'NULL')}`,
    () => `${atom(m)} ${m.pick('AND', 'OR')} ${atom(m)}`,
  )
}

function change(m: Maker, parts: string[]): void {
  const at = m.number(parts.length)
  const other = m.number(parts.length)
  m.one<unknown>(
    () => parts.splice(at, 1),
    () => parts.splice(at, 0, parts[at] ?? ''),
    () => parts.splice(at, 0, m.pick(...tokens)),
    () => parts.splice(at, 0, m.pick(...tokens)),
    () => parts.splice(at, 1, m.pick(...tokens)),
    () => parts.splice(at, 1, m.pick(...tokens)),
    () => parts.splice(at, 1, parts[other] ?? ''),
    () => {
      const [low, high] = [Math.min(at, other), Math.max(at, other)]
      parts.splice(low, 0, '(')
      parts.splice(high + 1, 0, ')')
    },
  )
}

/** What one side takes, besides what follows a predicate. */
const forms: readonly RegExp[] = [
  // Parentheses around a part of a name, and lists without a value.
  /\(\s*st\b|\[\s*(?:\/\*.*\*\/\s*)?\]|\[\s*\(/,
  // Tuples are structs there, and calls of calls, signs and names of arguments are left out.
  /\(\s*\(.*,|\)\s*\(|\+|=>/,
  // Computed NaN has a sign there, which depends on the machine.
  /[/%]\s*-?\s*0\b|-\s*[a-z]/,
  /\bANY\b|\bOVER\(|substr_index|array_has\(list_d/,
  // A struct beside itself is only asked there whether it is NULL.
  /\bst\s*[=<>!]+\s*st\b/,
  // Nothing is compared with NULL, even if it could not be.
  /NULL\s*[=<>!]|(?:[=<>]|LIKE)\s*NULL|NOT\s*NULL\s*[.,]|NULL\s*[.[]/,
]

/**
 * Whether a difference is meant. The reference leaves out what follows a predicate, which is refused here: it gives the
 * same answer without that.
 */
export async function isMeant(
  text: string,
  expected: Answer,
  found: Answer,
  reference: Reference,
): Promise<boolean> {
  if (forms.some((form) => form.test(text))) return true
  const offset = 'error' in found ? /\(offset (\d+)\)/.exec(found.error)?.[1] : undefined
  if (offset === undefined) return false
  return agree(expected, await reference.ask(text.slice(0, Number(offset))))
}
