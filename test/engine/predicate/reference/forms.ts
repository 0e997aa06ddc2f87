import { listCall, numberCall, textCall } from './forms-of-calls.ts'
import { instants, moment } from './forms-of-time.ts'
import type { Maker } from './maker.ts'
import { texts } from './rows.ts'
import { columnTerm, literal, targetNames } from './typed.ts'
import { comparisons, quote } from './values.ts'

/*
 * Forms that are written less often: other names of types and functions, numbers with exponents, patterns with
 * escapes, bounds of what a function takes, and casts between any two types.
 */

const numbers = [
  'i8',
  'i16',
  'i',
  'j',
  'big',
  'u8',
  'u16',
  'u32',
  'u64',
  'h',
  'f',
  'f32',
  'dec',
  'cents',
  'whole',
  'wide',
  'small',
  'single',
]
const written = [
  '1e0',
  '1e3',
  '1E2',
  '5e-1',
  '-1e2',
  '.5',
  '5.',
  '0.0',
  '-0.0',
  '1e-320',
  '1e309',
  '-1.50',
  '007',
  '2.500',
  '1.0e1',
  '9223372036854775807',
  '9223372036854775808',
  '-9223372036854775808',
  '18446744073709551615',
  '18446744073709551616',
  '- 5',
  '-(5)',
  '(1)',
  '((2))',
  '-(-1)',
  '0',
  '127',
  '128',
  '-129',
  '255',
  '256',
  '1e38',
  '3.4e38',
  '99999999999999999999',
  "'1'",
  "' 1'",
  "'1e2'",
  "'+5'",
  "'0x1'",
  "'1.0'",
  "'-0'",
  "''",
  "'inf'",
  "'-Infinity'",
  "'NaN'",
  "'nan'",
  'true',
  'NULL',
]
const names = [
  'VARCHAR',
  'TEXT',
  'CHAR',
  'STRING',
  'INTEGER',
  'INT2',
  'INT4',
  'INT8',
  'REAL',
  'FLOAT4',
  'FLOAT8',
  'DOUBLE PRECISION',
  'NUMERIC(8, 3)',
  'DEC(9, 1)',
  'DECIMAL',
  'DECIMAL(5)',
  'BOOL',
  'BYTEA',
  'VARBINARY',
  'BLOB',
  'DATETIME',
  'TIMESTAMPTZ',
  'TIMESTAMP WITH TIME ZONE',
  'TIMESTAMP WITHOUT TIME ZONE',
  'TIME',
  'FLOAT(24)',
  'FLOAT(53)',
  'VARCHAR(10)',
  'int unsigned',
  'UNSIGNED',
  'TINYINT(1)',
  'BIGINT[]',
  'INT[]',
  'ARRAY<INT>',
  'INTERVAL',
  'JSON',
  'UUID',
]

export function form(m: Maker): string {
  const not = m.pick('', '', 'NOT ')
  const compare = m.pick(...comparisons)
  return m.one(
    () => `${m.pick(...numbers)} ${compare} ${m.pick(...written)}`,
    () =>
      `(${m.pick(...numbers)} ${compare} ${m.pick(...written)}) IS ${not}${m.pick('TRUE', 'FALSE', 'NULL', 'UNKNOWN')}`,
    () =>
      `${m.pick(...numbers)} ${m.pick('+', '*')} ${m.pick('1e0', '5e-1', '2.500', '1e3', '(1)', '127')} ${compare} ${m.pick(...numbers)}`,
    () => `${m.pick(...numbers)} ${not}IN (${m.many(1, 4, () => m.pick(...written))})`,
    () => `NOT (${m.pick(...numbers)} ${not}IN (${m.many(1, 4, () => m.pick(...written))}))`,
    () => `${m.pick(...numbers)} ${not}BETWEEN ${m.pick(...written)} AND ${m.pick(...written, ...numbers)}`,
    () => castOf(m, compare),
    () => castOf(m, compare),
    () => like(m, not),
    () => like(m, not),
    () => moment(m, compare),
    () => moment(m, compare),
    () => moment(m, compare),
    () => textCall(m, compare),
    () => textCall(m, compare),
    () => numberCall(m, compare),
    () => numberCall(m, compare),
    () => listCall(m, compare),
    () => listCall(m, compare),
    () => choice(m, compare),
    () => choice(m, compare),
    () => logic(m, not),
  )
}

function castOf(m: Maker, compare: string): string {
  const name = m.chance(50) ? m.pick(...names) : m.pick(...targetNames)
  const cast = m.pick('CAST', 'TRY_CAST', 'TRY_CAST')
  const from = m.chance(65)
    ? columnTerm(m).text
    : m.pick(
        ...written,
        ...instants.map(quote),
        "X'61'",
        "X'00ff'",
        "DATE '2024-01-01'",
        "TIMESTAMP '2024-01-01 00:00:00'",
      )
  const inner = m.chance(25) ? `${cast}(${from} AS ${m.pick(...targetNames)})` : from
  const whole = `${cast}(${inner} AS ${name})`
  return m.one(
    () => `${whole} IS ${m.pick('', 'NOT ')}NULL`,
    () => `${whole} ${compare} ${m.pick(...written, ...numbers)}`,
    () =>
      `${whole} ${compare} ${m.one(
        () => columnTerm(m).text,
        () => quote(m.pick(...texts)),
        () => quote(m.pick(...instants)),
      )}`,
    () =>
      `CAST(${whole} AS STRING) ${compare} ${m.pick("'1'", "'5'", "'1.0'", "'true'", "'1970-01-01'", "''")}`,
  )
}

function like(m: Maker, not: string): string {
  const piece = () =>
    m.pick(
      '%',
      '%',
      '_',
      'a',
      'A',
      'p',
      'é',
      '\\%',
      '\\_',
      '\\\\',
      '\\a',
      '!',
      '!%',
      '!_',
      '%%',
      '10',
      '.',
      '*',
      '(',
      '[a]',
      '\n',
      'ß',
      'SS',
      '',
    )
  const pattern = Array.from({ length: m.number(5) }, piece).join('')
  const value = m.pick(
    's',
    't',
    'Name',
    'dict',
    'st.y.z',
    'written',
    'CAST(i AS STRING)',
    'CAST(dec AS STRING)',
    'upper(s)',
    "'apple'",
  )
  const escaping = m.chance(30) ? ` ESCAPE ${m.pick("'!'", "'\\'", "'%'", "'a'", "''", "'!!'")}` : ''
  return `${value} ${not}${m.pick('LIKE', 'ILIKE')} ${m.chance(90) ? quote(pattern) : m.pick('t', 's', 'NULL', 'dict')}${escaping}`
}

function choice(m: Maker, compare: string): string {
  const any = () =>
    m.chance(70) ? columnTerm(m).text : m.pick('NULL', '1', '1.5', "'a'", 'true', "DATE '2024-01-01'", "'5'")
  const first = columnTerm(m)
  const like = () =>
    m.chance(60)
      ? columnTerm(m, ({ typeId }) => typeId === first.type.typeId).text
      : m.chance(50)
        ? literal(m, first.type)
        : any()
  const call = m.one(
    () => `coalesce(${[first.text, like(), like()].slice(0, 1 + m.number(3)).join(', ')})`,
    () => `${m.pick('nvl', 'ifnull', 'nullif')}(${first.text}, ${like()})`,
    () => `nullif(${like()}, ${first.text})`,
    () =>
      `${m.pick('greatest', 'least')}(${[first.text, like(), like()].slice(0, 1 + m.number(3)).join(', ')})`,
    () => `coalesce(${first.text} IS NULL, false)`,
  )
  return m.one(
    () => `${call} IS ${m.pick('', 'NOT ')}NULL`,
    () => `${call} ${compare} ${like()}`,
    () => `CAST(${call} AS STRING) IS NOT NULL`,
    () => call,
  )
}

function logic(m: Maker, not: string): string {
  const part = () =>
    m.pick(
      'b',
      'c',
      'true',
      'false',
      'NULL',
      '(i > 1)',
      '(s IS NULL)',
      'NOT b',
      "(s = 'a')",
      'b = c',
      'b <> true',
      'b IS NULL',
      '(NULL)',
      'CAST(j AS BOOLEAN)',
    )
  return m.one(
    () => `${part()} AND ${part()} OR ${part()}`,
    () => `${not}${part()} OR ${part()} AND ${not}${part()}`,
    () =>
      `(${part()} ${m.pick('AND', 'OR', '=', '<>', '<', '>=')} ${part()}) IS ${not}${m.pick('TRUE', 'FALSE', 'NULL', 'UNKNOWN')}`,
    () => `${part()} IS ${not}DISTINCT FROM ${part()}`,
    () => `${columnTerm(m).text} IS ${not}DISTINCT FROM ${columnTerm(m).text}`,
    () => `NOT NOT ${part()}`,
    () => `i BETWEEN ${m.pick('SYMMETRIC ', 'ASYMMETRIC ', '')}5 AND 1`,
    () => `b ${not}IN (${m.many(1, 3, part)})`,
    () =>
      `${m.pick('"i"', '`i`', 'I', '[i]', 't.i', '"I"', "'i'", '"sp ace"', '`sp ace`', "st['x']", 'st."x"', 'st.`a.b`', "st['a.b']", 'st.y.f', "st['y']['f']", "st['y'].f", 'ST.x', "get_field(st, 'x')")} ${m.pick('=', '<')} ${m.pick('1', 'i', "'1'", '1.0')}`,
  )
}
