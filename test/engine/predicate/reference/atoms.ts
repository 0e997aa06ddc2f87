import type { Maker } from './maker.ts'
import { texts } from './rows.ts'
import {
  anyColumn,
  comparisons,
  date,
  floatColumns,
  floats,
  integerColumns,
  integers,
  longs,
  number,
  quote,
  smallIntegers,
  text,
  textColumns,
  timestamp,
  timestampColumns,
  value,
  zeroLiterals,
} from './values.ts'

export function atom(m: Maker): string {
  return m.one(
    () =>
      compared(m, m.pick(...integerColumns), () =>
        m.pick(...smallIntegers, ...smallIntegers, ...integers, ...longs),
      ),
    () => `z ${m.pick('<', '<=', '>', '>=')} ${m.pick(...zeroLiterals)}`,
    () => compared(m, m.pick(...floatColumns), () => m.pick(...floats, ...smallIntegers)),
    () => compared(m, m.pick(...textColumns), () => quote(m.pick(...texts))),
    () => compared(m, m.pick('d', 'e'), () => date(m)),
    () =>
      compared(m, m.pick(...timestampColumns), () =>
        m.one(
          () => date(m),
          () => timestamp(m),
        ),
      ),
    () =>
      compared(m, 'dec', () =>
        m.pick(...smallIntegers, 'CAST(1.5 AS DECIMAL(10, 2))', 'CAST(5 AS DECIMAL(5, 1))'),
      ),
    () => compared(m, 'b', () => m.pick('true', 'false', 'c', 'NULL')),
    () =>
      compared(m, m.pick('big + 1', 'i * 2', 'j - 1', 'h + 0.5', 'i8 + i16', 'u8 + 1'), () => number(m, 1)),
    () => compared(m, number(m, 2), () => number(m, 2)),
    () =>
      compared(m, text(m, 2), () =>
        m.one(
          () => text(m, 1),
          () => quote(m.pick(...texts)),
        ),
      ),
    () => compared(m, m.pick(...timestampColumns), () => m.pick(...timestampColumns, 'd')),
    () => compared(m, m.pick('d', 'e'), () => m.pick('d', 'e', 'e', 'ts', 'tsm')),
    () => compared(m, 'tags', () => m.pick('tags', "['x']", "['x', 'y']", "make_array('x', NULL)")),
    () => compared(m, 'li', () => m.pick('li', '[1, 2]', '[0]')),
    () => mixed(m),
    () => compared(m, m.pick('i', 'u8', 'big', 'j'), () => sum(m)),
    () => compared(m, m.pick('f', 'f32', 'h'), () => m.pick('1 / 2', '1.5 + 1', '1.5 + h', 'j + 1', '2 * 3')),
    () => between(m),
    () => membership(m),
    () => like(m),
    () =>
      m.pick(
        'b',
        'c',
        'NOT b',
        'true',
        'false',
        'b = c',
        'b <> c',
        '1 = 1',
        'NULL = 1',
        'b IS TRUE',
        'c IS NOT FALSE',
      ),
    () => `${anyColumn(m)} IS ${m.pick('', 'NOT ')}NULL`,
    () => `${value(m, 2)} IS ${m.pick('', 'NOT ')}NULL`,
    () => booleanFunction(m),
    () => booleanFunction(m),
    () => listFunction(m),
    () => dateFunction(m),
  )
}

/** Literals of another kind than what they are compared with: taken where they are not right beside a column. */
function mixed(m: Maker): string {
  const not = m.pick('', 'NOT ')
  const compare = m.pick(...comparisons)
  return m.one(
    () =>
      `NOT (${m.pick('i', 'j', 'u8', 'big', 'st.x')} ${compare} ${m.pick("'5'", "'-7'", '1.5', '300', '-1', '10.0')})`,
    () =>
      `(${m.pick('f', 'h', 'f32')} ${compare} ${m.pick("'1.5'", "'nan'", "'-1'", '0.1', '1')}) IS ${not}TRUE`,
    () => `NOT (${m.pick('d', 'e')} ${compare} ${m.pick("'2024-01-01'", "'2024-02-29'", "'19700101'")})`,
    () =>
      `(${m.pick('ts', 'tsm', 'tz')} ${compare} ${m.pick("'2024-01-01 00:00:00'", "'2024-02-29T12:00:00Z'")}) IS ${not}FALSE`,
    () =>
      `NOT (${m.pick('i', 'j', 'f', 'u8')} ${not}IN (${m.many(1, 3, () => m.pick("'5'", '1', '2', '10.0', '1.5', 'NULL'))}))`,
    () =>
      `NOT (${m.pick('i', 'j', 'h')} ${not}BETWEEN ${m.pick("'1'", '0', '0.5')} AND ${m.pick("'7'", '5', '9.5')})`,
    () => `NOT (${m.pick('i', 'u8', 'u64', 'i8')} ${compare} ${m.pick('j', 'big', 'u32', 'f32')})`,
    () => `j + 1 ${compare} ${m.pick("'5'", '1.5', '3')}`,
    () => `NOT (dec ${compare} ${m.pick('1.5', '5', "'2.25'", 'j', 'u8')})`,
    () => `length(s) ${compare} ${m.pick("'5'", '1.5', 'u64', 'j')}`,
  )
}

/** Arithmetic beside a column: its literals take the column's type. */
function sum(m: Maker): string {
  const part = () => m.pick('1', '2', '100', '200', 'j', 'u8', '-1', 'i')
  return m.one(
    () => `${part()} ${m.pick('+', '-', '*')} ${part()}`,
    () => `(${part()} + ${part()}) * ${m.pick('2', 'j')}`,
    () => `${part()} / 2`,
    () => `j % 3 + ${part()}`,
    () => `1.5 + ${m.pick('1', 'h')}`,
  )
}

/** A comparison; a literal may come first, or be NULL. */
function compared(m: Maker, left: string, right: () => string): string {
  const operator = m.pick(...comparisons)
  const other = m.chance(3) ? 'NULL' : right()
  return m.chance(20) ? `${other} ${operator} ${left}` : `${left} ${operator} ${other}`
}

function between(m: Maker): string {
  const not = m.pick('', '', 'NOT ')
  return m.one(
    () => `${m.pick(...integerColumns)} ${not}BETWEEN ${m.pick(...smallIntegers)} AND ${m.pick(...integers)}`,
    () =>
      `${m.pick(...floatColumns)} ${not}BETWEEN ${m.pick(...floats)} AND ${m.pick(...floats, ...smallIntegers)}`,
    () => `${m.pick(...textColumns)} ${not}BETWEEN ${quote(m.pick(...texts))} AND ${quote(m.pick(...texts))}`,
    () => `d ${not}BETWEEN ${date(m)} AND ${date(m)}`,
    () =>
      `ts ${not}BETWEEN ${timestamp(m)} AND ${m.one(
        () => timestamp(m),
        () => date(m),
      )}`,
    () =>
      `${m.pick('i', 'h', 'length(s)', 'u8 + 1')} ${not}BETWEEN ${m.pick('j', 'u8', '0.5')} AND ${m.pick('j', '10', 'h')}`,
    () => `j ${not}BETWEEN NULL AND ${m.pick(...smallIntegers)}`,
    () => `j + 1 ${not}BETWEEN 0 AND 2.5`,
  )
}

function membership(m: Maker): string {
  const not = m.pick('', '', 'NOT ')
  const orNull = (make: () => string) => () => (m.chance(8) ? 'NULL' : make())
  return m.one(
    () =>
      `${m.pick(...integerColumns)} ${not}IN (${m.many(
        1,
        5,
        orNull(() => m.pick(...smallIntegers)),
      )})`,
    () => `${m.pick('big', 'i', 'u8')} ${not}IN (${m.many(1, 3, () => m.pick(...integers))})`,
    () =>
      `${m.pick(...textColumns)} ${not}IN (${m.many(
        1,
        5,
        orNull(() => quote(m.pick(...texts))),
      )})`,
    () =>
      `${m.pick('f', 'h', 'f32')} ${not}IN (${m.many(
        1,
        4,
        orNull(() => m.pick(...floats)),
      )})`,
    () => `d ${not}IN (${m.many(1, 3, () => date(m))})`,
    () => `j ${not}IN (${m.many(1, 3, () => m.pick('i', 'j', '1', '2 + 1', 'j + 1'))})`,
    () => `s ${not}IN (t, ${quote(m.pick(...texts))})`,
    () => `${m.pick('1', '7', '-1')} ${not}IN (${m.many(1, 3, () => m.pick('i', 'j', '1'))})`,
    () =>
      `b ${not}IN (${m.many(
        1,
        2,
        orNull(() => m.pick('true', 'false', 'c')),
      )})`,
    () => `upper(s) ${not}IN (${m.many(1, 3, () => quote(m.pick(...texts)))})`,
  )
}

function like(m: Maker): string {
  const pattern = Array.from({ length: m.number(5) }, () =>
    m.pick('%', '%', '_', 'a', 'A', 'p', 'é', 'É', '\\%', '\\_', '\\\\', '10', 'ß', '𐐷', 'e', ' '),
  ).join('')
  const right = m.chance(8) ? m.pick('t', 'NULL', "'%' || t", "upper('a%')") : quote(pattern)
  return `${m.pick(...textColumns, 'lower(s)')} ${m.pick('', 'NOT ')}${m.pick('LIKE', 'ILIKE')} ${right}`
}

function booleanFunction(m: Maker): string {
  return m.one(
    () =>
      `${m.pick('starts_with', 'ends_with', 'contains')}(${text(m, 1)}, ${m.pick("'a'", "'p'", "''", 't')})`,
    () =>
      `regexp_like(${m.pick('s', 't')}, ${quote(m.pick('^a', 'p+', '\\d', '^\\w+$', '.', '[^a-z]', 'É', '(a|b)*c?$'))}${m.pick('', ", 'i'", ", 's'")})`,
    () => `regexp_match(s, ${quote(m.pick('a', '^1', 'p{2}'))})`,
    () => `${m.pick('isnan', 'iszero')}(${m.pick('f', 'g', 'h', 'f32', 'j')})`,
    () => `is_valid(${m.pick('s', 'i', 'tags')})`,
    () => `coalesce(b, ${m.pick('true', 'false', 'c')})`,
    () => `CAST(${m.pick('i', 'j', 'h', 'f')} AS BOOLEAN)`,
  )
}

function listFunction(m: Maker): string {
  return m.one(
    () => `${m.pick('array_has', 'list_contains')}(tags, ${m.pick("'x'", "'é'", 's', 'dict')})`,
    () => `array_has(li, ${m.pick('0', '1', 'j', 'i', 'NULL')})`,
    () =>
      `${m.pick('array_has_any', 'array_has_all')}(tags, ${m.pick("['x']", "make_array('x', 'z')", "make_array('y', NULL)")})`,
    () => `${m.pick('array_has_any', 'array_has_all')}(li, ${m.pick('[1]', '[0, 5]')})`,
    () => 'array_has_any(tags, tags)',
    () => `empty(${m.pick('tags', 'li')})`,
    () => `tags IN (['x'], ['x', 'y'])`,
  )
}

function dateFunction(m: Maker): string {
  const part = m.pick(
    'year',
    'quarter',
    'month',
    'week',
    'day',
    'doy',
    'dow',
    'hour',
    'minute',
    'second',
    'millisecond',
    'epoch',
    'isodow',
  )
  const unit = m.pick('year', 'quarter', 'month', 'week', 'day', 'hour', 'minute', 'second')
  const column = m.pick('ts', 'tsm', 'tz', 'd')
  return m.one(
    () =>
      `date_part('${part}', ${column}) ${m.pick(...comparisons)} ${m.pick('2024', '1', '0', '12', '59', '53')}`,
    () => `date_part('${part}', ${column}) = date_part('${part}', ${m.pick('ts2', 'e')})`,
    () => `date_trunc('${unit}', ${column}) ${m.pick(...comparisons)} ${timestamp(m)}`,
    () => `d ${m.pick('+', '-')} ${m.pick('1', '30')} ${m.pick(...comparisons)} ${date(m)}`,
    () => `d - e ${m.pick(...comparisons)} ${m.pick('0', '1', '100')}`,
    () => `ts - ts2 ${m.pick('=', '<', '>')} ts2 - ts`,
    () => `to_unixtime(ts) ${m.pick(...comparisons)} 1704067200`,
    () => `CAST(${m.pick('ts', 'tsm', 'tss', 'tz')} AS DATE) = d`,
    () => `CAST(d AS TIMESTAMP) ${m.pick(...comparisons)} ts`,
  )
}
