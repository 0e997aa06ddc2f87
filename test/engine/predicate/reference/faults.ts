import type { Maker } from './maker.ts'
import { comparisons, quote, zeroLiterals } from './values.ts'

/** What can fail on a row: nothing else stands beside it, as what is looked at first is not told. */
export function risky(m: Maker): string {
  return m.one(
    () =>
      `${m.pick('i', 'j', 'big', '7')} ${m.pick('/', '%')} ${m.pick('j', 'u8', '0', 'i')} ${m.pick('=', '>')} 1`,
    () => `CAST(${m.pick('s', 'Name', 'tags')} AS ${m.pick('INT', 'DOUBLE', 'DATE', 'BOOLEAN')}) IS NULL`,
    () => `CAST(${m.pick('f', 'big', 'u64', 'dec')} AS ${m.pick('INT', 'TINYINT', 'DECIMAL(5, 2)')}) IS NULL`,
    () =>
      `CAST(${m.pick('i', 'big', 'u64', 'f')} AS ${m.pick('TINYINT', 'INT')}) ${m.pick('=', '<', '>=')} ${m.pick('1', '5')}`,
    () => `NOT (s ${m.pick('=', '<')} ${m.pick('10', '1.5')})`,
    () => `(${m.pick('i', 'd', 'f')} = ${quote(m.pick('1', '1.5', 'x', '2024-01-01'))}) IS TRUE`,
    () => `abs(${m.pick('i', 'i8', 'big')}) > 1`,
    // Of several lists about one column the reference makes one, and forgets NULL: so one of them. Whether a float is
    // zero is such a list to it: `(z = 0 AND z <> 0) IS FALSE` is true there of a null.
    () => `z ${m.pick('=', '==', '<>', '!=')} ${m.pick(...zeroLiterals)}`,
    () => `z ${m.pick('IN', 'NOT IN')} (${m.many(1, 3, () => m.pick(...zeroLiterals))})`,
    () => `${m.pick('s', 'i', 'f', 'd')} ${m.pick(...comparisons)} ${m.pick('j', 't', 'h', 'e', 'u8')}`,
    () =>
      `NOT (${m.pick('i', 'u8', 'f', 'd')} IN (${quote(m.pick('1', '2024-01-01', 'q'))}, ${quote(m.pick('2', '3.5'))}))`,
    () => `s || i = t || ${m.pick('j', 'b')}`,
  )
}

/** What is not quite of the language: both sides refuse it. */
export function invalid(m: Maker): string {
  const column = m.pick('i', 's', 'd', 'b', 'f', 'u8', 'ts')
  return m.one(
    () =>
      `${column} ${m.pick(...comparisons)} ${m.pick("'1'", '1.5', '1', 'true', "'2024-01-01'", '300', '-1', "X'01'")}`,
    () => `${column} ${m.pick('IN', 'NOT IN')} (${m.pick("'1'", '1.5', 'true', '300')})`,
    () => `${column} BETWEEN ${m.pick("'1'", '1')} AND ${m.pick('2.5', "'z'")}`,
    () =>
      m.pick(
        'nope = 1',
        '`I` = 1',
        'st.nope = 1',
        'st.X = 1',
        's.x = 1',
        '"S" = 1',
        'upper(name) = 1',
        'abs(J) = 1',
      ),
    () =>
      m.pick(
        'nofunc(i) = 1',
        'upper(i) = s',
        'upper() = s',
        'upper(s, s) = s',
        'length(s, s) = 1',
        'abs(s) = 1',
      ),
    () =>
      m.pick(
        'i',
        's',
        '1',
        'NULL',
        'i + 1',
        'i AND b',
        'NOT i',
        's OR b',
        'i IS TRUE',
        '-s = 1',
        '-u8 = 1',
        '-b',
      ),
    () =>
      m.pick(
        'i =',
        'i = 1 AND',
        '(i = 1',
        '= 1',
        'i IN ()',
        'i IN (1,)',
        'i BETWEEN 1',
        'i NOT 1',
        'IS NULL',
        's LIKE',
      ),
    () =>
      m.pick(
        'i + s = 1',
        's + 1 = 2',
        'b + 1 = 2',
        'd + 1.5 = d',
        'ts + 1 = ts',
        'i || i = 1',
        'tags + 1 = 2',
      ),
    () =>
      m.pick('i LIKE 1', 'i LIKE s', 'b = 1', 'd = ts2 - ts', 'st = 1', 'tags = 1', 'b > 1', "NOT (b = 'x')"),
    () =>
      m.pick(
        'CASE WHEN b THEN 1 END = 1',
        'i ^ 1 = 1',
        's ~ s',
        'b IS UNKNOWN',
        'EXISTS (SELECT 1)',
        'i = +1',
        'i & 1 = 1',
        '(1, 2) = (1, 2)',
        'SUBSTR(s, 1) = s',
        'TRIM(s) = s',
        'FLOOR(f) = 1',
        'i IS DISTINCT FROM 1',
        'CAST(i AS VARCHAR) = s',
        'i <=> 1',
        "d + INTERVAL '1 day' = d",
      ),
  )
}
