import type { Maker } from './maker.ts'
import { texts } from './rows.ts'

export const integerColumns = [
  'i8',
  'i16',
  'i',
  'j',
  'big',
  'u8',
  'u16',
  'u32',
  'u64',
  '`sp ace`',
  'st.x',
  "st['x']",
]

export const zeroLiterals = ['0', '0.0', '-0.0', '1', '-1.0']

export const floatColumns = ['f', 'g', 'h', 'f32', 'st.y.f']

export const textColumns = ['s', 't', 'Name', 'dict', 'st.y.z', '"s"', '`t`']

export const timestampColumns = ['ts', 'ts2', 'tsm', 'tss', 'tz']

export const comparisons = ['=', '==', '<>', '!=', '<', '<=', '>', '>=']

export const smallIntegers = ['0', '1', '2', '5', '7', '10', '-1', '-7']

export const integers = [
  ...smallIntegers,
  '127',
  '128',
  '255',
  '300',
  '-128',
  '65536',
  '2147483647',
  '2147483648',
]

export const longs = [
  '9223372036854775807',
  '-9223372036854775807',
  '9223372036854775808',
  '18446744073709551615',
]

export const floats = [
  '0.0',
  '-0.0',
  '1.0',
  '1.5',
  '0.1',
  '-2.25',
  '1e308',
  '1e-3',
  '.5',
  '10.',
  '1e999',
  '-1e999',
]

const dates = ['1970-01-01', '2024-01-01', '2024-02-29', '2030-12-31', '1969-12-31', '2024-1-2', '20240101']

export const instants = [
  '2024-01-01 00:00:00',
  '2024-01-01T00:00:00Z',
  '2024-02-29 12:00:00.123456',
  '1969-12-31 23:59:59.999999',
  '2024-01-01',
  '2024-01-01 02:00:00+02:00',
]

export const quote = (value: string) => `'${value.replaceAll("'", "''")}'`

export function date(m: Maker): string {
  const written = quote(m.pick(...dates))
  return m.chance(70) ? `DATE ${written}` : `CAST(${written} AS DATE)`
}

export function timestamp(m: Maker): string {
  const written = quote(m.pick(...instants))
  return m.pick(
    `TIMESTAMP ${written}`,
    `TIMESTAMP ${written}`,
    `CAST(${written} AS TIMESTAMP)`,
    `TIMESTAMP(3) ${written}`,
  )
}

export function anyColumn(m: Maker): string {
  return m.pick(
    ...integerColumns,
    ...floatColumns,
    ...textColumns,
    ...timestampColumns,
    'b',
    'd',
    'dec',
    'tags',
    'li',
    'st',
    'st.y',
    'st.`a.b`',
  )
}

/** A number that never fails, and is no NaN but where a column's value is one. */
export function number(m: Maker, depth: number): string {
  if (depth === 0) return m.pick(...integerColumns, ...floatColumns, ...smallIntegers, '1.5')
  const whole = () => m.pick('i', 'j', 'big', 'u8', 'i16', 'u32', 'st.x', ...smallIntegers)
  return m.one(
    () => number(m, 0),
    () => `${whole()} ${m.pick('+', '-', '*')} ${whole()}`,
    () => `${whole()} ${m.pick('/', '%')} ${m.pick('2', '3', '7', '-3')}`,
    () => `(${whole()} + ${whole()}) * ${whole()}`,
    () => `h ${m.pick('+', '-', '*', '/', '%')} ${m.pick('2', '1.5', '0.1')}`,
    () => `h ${m.pick('+', '-')} ${m.pick('j', 'h', 'u8')}`,
    () => `-${m.pick('j', 'h', '(j)', '(1)')}`,
    () => `length(${text(m, depth - 1)})`,
    () => `octet_length(${text(m, depth - 1)})`,
    () => `strpos(${m.pick('s', 't')}, ${quote(m.pick('p', 'a', '', 'é'))})`,
    () => `ascii(${m.pick('s', 't')})`,
    () => `coalesce(${m.pick('i', 'j', 'big', 'h')}, ${m.pick('0', '1', 'j', '2.5')})`,
    () => `nullif(${m.pick('i', 'j', 'h')}, ${m.pick(...smallIntegers)})`,
    () => `nvl(j, ${m.pick('i', '0')})`,
    () => `abs(${m.pick('j', 'h', 'f', 'f32', 'u8', 'dec')})`,
    () => `round(${m.pick('h', 'j')})`,
    () => `round(h, ${m.pick('0', '1')})`,
    () => `trunc(h)`,
    () => `signum(${m.pick('h', 'j')})`,
    () => `${m.pick('greatest', 'least')}(${m.many(1, 3, () => m.pick('i', 'j', 'h', '1', 'NULL'))})`,
    () => `gcd(j, ${m.pick('4', '6', 'j')})`,
    () => `CAST(${m.pick('j', 'u8', 'b')} AS ${m.pick('BIGINT', 'DOUBLE', 'INT', 'SMALLINT')})`,
    () =>
      `TRY_CAST(${m.pick('s', 't', 'i', 'h', 'big', 'b')} AS ${m.pick('INT', 'BIGINT', 'DOUBLE', 'TINYINT', 'FLOAT', 'BIGINT UNSIGNED')})`,
    () => `CAST(${m.pick('d', 'ts')} AS BIGINT)`,
    () => `levenshtein(s, ${m.pick('t', "'apple'")})`,
    () => `regexp_count(s, ${quote(m.pick('a', '[ap]+', '\\\\d'))})`,
    () => `${m.pick('array_length', 'cardinality')}(${m.pick('tags', 'li')})`,
    () => `array_position(tags, ${quote(m.pick('x', 'y', 'q'))})`,
    () => `li[${m.pick('1', '2', '-1', 'j')}]`,
    () => `${m.pick('array_max', 'array_min')}(li)`,
  )
}

export function text(m: Maker, depth: number): string {
  if (depth === 0) return m.pick('s', 't', 'Name', 'st.y.z', quote(m.pick(...texts)))
  const inner = () => text(m, depth - 1)
  return m.one(
    () => m.pick('s', 't', 'Name'),
    () => `${m.pick('upper', 'lower', 'reverse', 'btrim', 'ltrim', 'rtrim', 'initcap', 'md5')}(${inner()})`,
    () => `concat(${m.many(1, 3, () => m.pick('s', 't', 'j', 'b', 'd', 'h', "'-'"))})`,
    () => `concat_ws('-', ${m.many(1, 3, () => m.pick('s', 't', 'j'))})`,
    () => `${inner()} || ${m.pick('s', 't', "'x'", 'j', 'b')}`,
    () => `${m.pick('left', 'right')}(${inner()}, ${m.pick('0', '1', '2', '-1', '-2', '100')})`,
    () => `repeat(${inner()}, ${m.pick('0', '1', '2', '-1')})`,
    () => `${m.pick('lpad', 'rpad')}(${inner()}, ${m.pick('0', '2', '6')}, ${quote(m.pick('x', 'xy', ''))})`,
    () => `split_part(${inner()}, ${quote(m.pick('p', 'a', ' ', ''))}, ${m.pick('1', '2', '-1')})`,
    () => `replace(${inner()}, ${quote(m.pick('p', 'a', 'é', ''))}, ${quote(m.pick('', 'q', 'pp'))})`,
    () => `translate(${inner()}, 'ap', 'b')`,
    () =>
      `regexp_replace(${inner()}, ${quote(m.pick('a', 'p+', '(a)(p)'))}, ${quote(m.pick('x', '\\2\\1', ''))}${m.pick('', ", 'g'", ", 'i'")})`,
    () => `coalesce(${inner()}, ${m.pick('t', "'none'")})`,
    () => `nullif(s, ${m.pick('t', "'a'")})`,
    () =>
      `CAST(${m.pick('i', 'big', 'u64', 'b', 'd', 'ts', 'tsm', 'tz', 'h', 'f', 'f32', 'dec', 's')} AS STRING)`,
    () => `tags[${m.pick('1', '2', '-1', 'j')}]`,
    () => `array_to_string(${m.pick('tags', 'li')}, ','${m.pick('', ", '*'")})`,
    () => `to_hex(${m.pick('i', 'u64', 'j')})`,
  )
}

export function value(m: Maker, depth: number): string {
  return m.one(
    () => number(m, depth),
    () => text(m, depth),
    () => anyColumn(m),
  )
}
