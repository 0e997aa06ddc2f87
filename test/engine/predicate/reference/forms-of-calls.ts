import type { Maker } from './maker.ts'
import { texts } from './rows.ts'
import { quote } from './values.ts'

/* Calls that are written less often, of functions of texts, numbers and lists. */

export function textCall(m: Maker, compare: string): string {
  const t = m.pick('s', 't', 'Name', 'dict', 'written', 'NULL', "'apple'", 'st.y.z')
  const n = m.pick(
    '0',
    '1',
    '2',
    '-1',
    '-3',
    '100',
    'j',
    'i8',
    'NULL',
    '9223372036854775807',
    '-9223372036854775807',
  )
  const few = m.pick('0', '1', '2', '-1', '-3', '7', 'NULL')
  const piece = quote(m.pick('', 'a', 'p', 'pp', 'é', ' ', 'A', '1'))
  const value = m.one(
    () => `left(${t}, ${n})`,
    () => `right(${t}, ${n})`,
    () => `${m.pick('lpad', 'rpad')}(${t}, ${few}${m.pick('', `, ${piece}`)})`,
    () => `repeat(${t}, ${few})`,
    () => `split_part(${t}, ${piece}, ${m.pick('1', '2', '-1', '3', 'NULL', '-2')})`,
    () => `replace(${t}, ${piece}, ${quote(m.pick('', 'x', 'aa'))})`,
    () => `translate(${t}, ${quote(m.pick('ap', 'é', '', 'aa'))}, ${quote(m.pick('', 'b', 'xyz'))})`,
    () => `${m.pick('btrim', 'ltrim', 'rtrim')}(${t}${m.pick('', `, ${quote(m.pick('a', ' ', 'ae', ''))}`)})`,
    () => `${m.pick('upper', 'lower', 'reverse', 'initcap', 'md5', 'UPPER', 'Lower')}(${t})`,
    () => `chr(${m.pick('97', 'small', 'j', '0', '-1', '1114112', '55296', '233')})`,
    () =>
      `concat(${m.many(1, 3, () => m.pick('s', 'i', 'NULL', 'b', 'f', 'd', "'-'", 'raw', 'dec', 'tags', 'ts', '1.50', 'f32'))})`,
    () =>
      `concat_ws(${m.pick("'-'", 'NULL', 's', "''")}, ${m.many(1, 3, () => m.pick('s', 'NULL', 't', "''", 'i'))})`,
    () =>
      `regexp_replace(${t}, ${quote(m.pick('a', 'P', 'p+', '(p)(p)', '^', '$', '', '.', '[[:alpha:]]', '\\d', '(', '\\bA', '(?i)A', 'a|p'))}, ${quote(m.pick('x', '', '\\1', '$1', '\\2\\1', '\\0', '&'))}${m.pick('', ", 'g'", ", 'i'", ", 'gi'")})`,
    () => `to_hex(${m.pick('i', 'big', 'u64', '255', '-1', 'NULL', 'h')})`,
    () => `${t} || ${m.pick('s', 'i', 'f', 'NULL', "''", 'd', 'b')}`,
    () => `${m.pick('sha224', 'sha256', 'sha384', 'sha512')}(${t})`,
    () => `encode(${m.pick(t, 'raw')}, ${m.pick("'hex'", "'base64'", "'base64pad'", "'HEX'")})`,
    () => `substr_index(${t}, 'p', ${few})`,
    () =>
      `array_to_string(${m.pick('tags', 'li', 'list_f', 'list_d', 'NULL')}, ${m.pick("','", "''", 'NULL')}${m.pick('', ", '*'", ', NULL')})`,
  )
  const count = m.one(
    () =>
      `${m.pick('length', 'char_length', 'character_length', 'octet_length', 'bit_length', 'ascii', 'LENGTH')}(${m.pick(t, 'raw', 'i')})`,
    () =>
      `${m.pick('strpos', 'instr', 'position', 'find_in_set', 'levenshtein')}(${t}, ${m.pick(piece, 't', 'NULL')})`,
    () =>
      `regexp_count(${t}, ${quote(m.pick('a', 'p', '', '.', '(', 'P'))}${m.pick('', ', 1', ', 2', ', 0', ", 1, 'i'")})`,
    () => `regexp_instr(${t}, ${quote(m.pick('a', 'p', '', '.'))}${m.pick('', ', 1', ', 2', ', 1, 2')})`,
    () => `octet_length(${value})`,
  )
  const test = m.one(
    () =>
      `${m.pick('starts_with', 'ends_with', 'contains')}(${m.pick(t, 'i', 'raw')}, ${m.pick(piece, 't', 'NULL', 'dict', '1')})`,
    () =>
      `regexp_like(${t}, ${quote(m.pick('^a', 'P', '[[:digit:]]+', '\\d', '\\w', '(?i)APPLE', '^$', '', '(', 'a{2,1}', '\\p{L}', '\\bp', 'a.p', '(?<x>a)', '(?=a)', '[^\\w]', '\\x61', '^[a-z]+$', '\\s', '$', '.*e$', '(?m)^z$', '\\z', '\\Z', '(?s).'))}${m.pick('', '', ", 'i'", ", 's'", ", 'm'", ", 'g'", ', NULL')})`,
    () =>
      `regexp_match(${m.pick('s', 't', 'Name', 'NULL', "'apple'", 'current_date')}, ${quote(m.pick('a', '(p)', '^$', 'x'))}${m.pick('', ", 'i'")})`,
  )
  return m.one(
    () => `${value} ${compare} ${m.pick("'a'", 't', "''", "'x'", quote(m.pick(...texts)))}`,
    () => `${value} IS NULL`,
    () => `${count} ${compare} ${m.pick('0', '1', '5', 'j', '2.5', "'1'", 'u64')}`,
    () => test,
    () => `NOT ${test}`,
  )
}

export function numberCall(m: Maker, compare: string): string {
  const n = m.pick(
    'j',
    'h',
    'i8',
    'u8',
    'dec',
    'cents',
    'whole',
    'f32',
    'wide',
    'small',
    'NULL',
    '5',
    '2.5',
    '-7',
    "'5'",
    'half',
    'single',
    'u64',
  )
  const call = m.one(
    () =>
      `${m.pick('abs', 'round', 'trunc', 'ceil', 'floor', 'signum', 'exp', 'degrees', 'radians', 'isnan', 'iszero', 'cbrt', 'sin', 'cos', 'tan', 'atan', 'sinh', 'cosh', 'tanh', 'asinh', 'cot', 'factorial')}(${n})`,
    () => `${m.pick('sqrt', 'ln', 'log2', 'log10', 'log')}(abs(${n}))`,
    () => `${m.pick('round', 'trunc')}(${n}, ${m.pick('0', '1', '-1', '2', 'j', '-2', '10', 'NULL')})`,
    () =>
      `${m.pick('power', 'pow')}(${m.pick('j', 'h', 'i8', 'u8', 'f32', 'wide')}, ${m.pick('0', '1', '2', '3')})`,
    () =>
      `${m.pick('gcd', 'lcm')}(${m.pick('j', 'small', '12', 'NULL', '-6', 'u8', 'i8')}, ${m.pick('4', '6', 'j', 'small', '0')})`,
    () => `atan2(h, ${n})`,
    () => `nanvl(${m.pick('f', 'f32', 'h', 'single')}, ${m.pick('0', '1.5', 'h', 'f', 'NULL')})`,
    () => `log(2, abs(${n}))`,
    () => `pi()`,
    () => `-${m.pick('j', 'dec', 'whole', 'wide', 'fine', 'huge', 'NULL')}`,
    () =>
      `${m.pick('i8', 'i16', 'j', 'u8', 'small', 'wide', 'u16')} ${m.pick('<<', '>>', '&', '|', '^', '#')} ${m.pick('1', '7', 'j', 'small', '64', '-1', 'u8')}`,
    () =>
      `${m.pick('j', 'i8', 'u8', 'dec', 'cents', 'wide')} ${m.pick('+', '-', '*', '/', '%')} ${m.pick('j', '2', '0', 'dec', 'u8', 'NULL', '-1', "'5'")}`,
  )
  return m.one(
    () => `${call} ${compare} ${m.pick('0', '1', '2', '5', '1.5', 'j', 'h', '-1', 'dec')}`,
    () => `${call} IS NULL`,
    () => `CAST(${call} AS STRING) ${compare} ${m.pick("'1'", "'5'", "'1.0'", "'0'")}`,
  )
}

export function listCall(m: Maker, compare: string): string {
  const [list, item, other] = m.pick(
    ['tags', () => m.pick("'x'", "'y'", 's', 'dict', 'NULL', "''"), "['x']"],
    ['li', () => m.pick('0', '1', 'j', '5', 'NULL', '1.5', 'big', "'1'"), '[1, 2]'],
    ['list_f', () => m.pick('0.5', '1', 'f32', 'h', 'NULL'), '[0.5, 1]'],
    ['list_d', () => m.pick('d', "DATE '2024-01-01'", 'NULL', "'2024-01-01'", '5'), "[DATE '1970-01-01']"],
    ['NULL', () => m.pick('1', "'x'", 's', 'NULL'), 'make_array()'],
  ) as readonly [string, () => string, string]
  const index = m.pick('1', '2', '-1', '0', '3', 'j', 'NULL', '-2')
  return m.one(
    () => `${m.pick('array_has', 'list_has', 'array_contains', 'list_contains')}(${list}, ${item()})`,
    () => `NOT ${m.pick('array_has', 'list_contains')}(${list}, ${item()})`,
    () =>
      `${m.pick('array_has_any', 'array_has_all', 'list_has_any', 'list_has_all', 'arrays_overlap')}(${list}, ${m.pick(other, `make_array(${item()})`, `[${item()}]`, list, 'NULL', '[]')})`,
    () =>
      `${m.pick('array_length', 'list_length', 'cardinality')}(${list}${m.pick('', '', '', ', 1', ', 2')}) ${compare} ${m.pick('0', '1', '2', 'j')}`,
    () =>
      `${m.pick('array_position', 'list_position', 'array_indexof')}(${list}, ${item()}${m.pick('', '', ', 2', ', 1')}) ${compare} ${m.pick('1', '2')}`,
    () => `${list}[${index}] ${compare} ${item()}`,
    () =>
      `${m.pick('array_element', 'array_extract', 'list_element', 'list_extract')}(${list}, ${index}) ${compare} ${item()}`,
    () => `${m.pick('array_max', 'array_min', 'list_max', 'list_min')}(${list}) ${compare} ${item()}`,
    () => `${m.pick('empty', 'array_empty', 'list_empty')}(${list})`,
    () =>
      `${list} ${compare} ${m.pick(other, list, `[${item()}]`, 'NULL', `make_array(${item()}, ${item()})`)}`,
    () => `${item()} = ANY(${list})`,
    () =>
      `${m.pick('array_to_string', 'array_join', 'list_to_string', 'list_join')}(${list}, '-') ${compare} ${m.pick("'x'", "'1'", "''")}`,
    () => `${list} IS ${m.pick('', 'NOT ')}NULL`,
    () => `${item()} IN (${list}[1], ${item()})`,
    () => `make_array(${item()}, ${item()})[1] ${compare} ${item()}`,
    () => `make_array(${item()}, ${m.pick("'x'", '1', 'raw', 'd', "DATE '2024-01-01'")}) IS NOT NULL`,
    () =>
      `array_length(${m.pick(`${list} || ${item()}`, `${item()} || ${list}`, `${list} || ${m.pick(list, 'tags')}`)}) ${compare} 2`,
    () => `array_concat(${list}, ${m.pick(list, 'tags', `make_array(${item()})`)}) ${compare} ${list}`,
    () => `${m.pick('array_append', 'list_push_back')}(${list}, ${item()}) ${compare} ${list}`,
    () => `array_prepend(${item()}, ${list})[${index}] ${compare} ${item()}`,
    () =>
      `${m.pick('array_sort', 'list_sort')}(${list}${m.pick('', ", 'DESC'", ", 'asc', 'NULLS LAST'")})[${index}] ${compare} ${item()}`,
    () =>
      `${m.pick('array_slice', 'list_slice')}(${list}, ${index}, ${index}${m.pick('', '', ', 2', ', -1')}) ${compare} ${list}`,
    () =>
      `${m.pick('array_reverse', 'array_distinct', 'array_pop_back', 'array_pop_front')}(${list}) ${compare} ${m.pick(list, other)}`,
  )
}
