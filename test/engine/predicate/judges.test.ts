import { expect, test } from 'vitest'
import { limitEach } from '../../support/time-limit.ts'
import { kindOf, textOf } from './reference/difference.ts'
import { differencesAmongUs, differencesToReference, differencesToReferenceOf } from './reference/judges.ts'
import { valueDifferences, valueDifferencesOf } from './reference/value-judge.ts'
import { makeTable, select, types } from './table.ts'

// It asks the reference for random predicates.
limitEach(60)

/*
 * A few of the predicates that are drawn without end elsewhere: `npm run soak -- --only predicates`.
 */

const seed = Number(process.env.PREDICATE_SEED ?? 20_240_229)

test('comparisons over columns of all types mean the same to an interpreter, and of the term as a column', () => {
  const differences = differencesAmongUs(seed, 500)
  expect(textOf(differences), `${differences.length} differ`).toBe('')
})

test('predicates answer as the reference does', async () => {
  const differences = await differencesToReference(seed, 400)
  expect(textOf(differences), `${differences.length} differ`).toBe('')
})

test('expressions have the values and the types of the reference', async () => {
  const differences = await valueDifferences(seed, 200)
  expect(textOf(differences), `${differences.length} differ`).toBe('')
})

test('a refusal of one side is told from another answer', () => {
  const [rows, values, error] = [{ ids: [1] }, { values: [1], type: 'int32' }, { error: 'no' }]
  expect([kindOf(rows, error), kindOf(error, values)]).toEqual(['refusal', 'refusal'])
  expect([kindOf(rows, { ids: [2] }), kindOf(values, { ...values, type: 'int64' })]).toEqual([
    'answer',
    'answer',
  ])
})

// Each of them was drawn once, and differed, over the table of its seed.
test.each([
  [211, 'nullif(CAST(day64 - d AS TIMESTAMP), at_s)'],
  [215, 'coalesce(CAST(-(day64 - d) AS TIMESTAMP), NULL)'],
  [300, 'TRY_CAST(TRY_CAST(fine AS DECIMAL(20, 4)) AS TINYINT) BETWEEN 127 AND 127'],
  [253, "CAST(concat(CAST(u8 AS TIMESTAMP(9)), '-', at_u) AS STRING)::BINARY"],
  [315, 'log(abs(h))'],
  [631, "coalesce(CAST(coalesce(dec + dec, 0) AS DATE), NULL) IN (DATE '1969-12-31')"],
  [702, "to_unixtime('') <= NULL"],
  [715, 'log(2, abs(half))'],
  [900043, "NOT (day64 <> '20240101')"],
  [900051, "NOT (time_n = '5')"],
  [900111, 'day64 + 1 != tsm'],
  [900111, 'd + i8'],
  [900111, 'coalesce(day64 - j, NULL)'],
  [900111, 'coalesce(CAST(i AS DATE) + 1, NULL)'],
  [900111, "CAST(TRY_CAST(big AS DATE) AS DATE) < DATE '2020-01-01'"],
  [900111, 'TRY_CAST(TRY_CAST(TRY_CAST(big AS INT) AS INT) AS INT) IN (5, 6)'],
  [900111, 'TRY_CAST(TRY_CAST(big AS INT) AS INT) BETWEEN 1 AND 5'],
  [900111, 'log(abs(h), power(abs(h), 2))'],
  [900111, 'power(h, log(h, 2))'],
  [900111, 'log(j, j)'],
  [900111, 'log(half, 1)'],
  [900111, 'power(cents % 100, 3)'],
  [900111, 'power(dec, 2.5)'],
  [900111, 'power(nullif(dec, 0), j)'],
  [900111, 'power(dec, 0)'],
])('the values of seed %i are those of the reference: %s', async (seed, text) => {
  expect(await valueDifferencesOf(seed, [text])).toEqual([])
})

test.each([
  [950050, "CAST(TRY_CAST(big AS DATE) AS DATE) < DATE '-234586-11-03'"],
  [36000046, "coalesce(CAST(coalesce(dec - i8, 1.5) AS TIMESTAMP(3)), d) == DATE '1970-01-01'"],
  [900267, "NOT (day64 IN ('2024-1-1', d))"],
  [950064, "NOT (time_m = '1')"],
])('the rows of seed %i are those of the reference: %s', async (seed, text) => {
  expect(await differencesToReferenceOf(seed, [text])).toEqual([])
})

test('the second of two floats, and the angle of two, have the type that the reference gives them', async () => {
  const values = ['h', 'f32', 'half', 'j', 'dec', 'NULL']
  const asked = values.flatMap((a) => values.flatMap((b) => [`nanvl(${a}, ${b})`, `atan2(${a}, ${b})`]))
  expect(await valueDifferencesOf(seed, asked)).toEqual([])
})

test('a day that no date has is NULL to TRY_CAST, also beside a date', () => {
  const table = makeTable({ s: [types.seconds, [0, 2 ** 50 * 1_000]] })
  expect(select(table, "TRY_CAST(s AS DATE) >= DATE '1970-01-01'")).toEqual([0])
  expect(select(table, "TRY_CAST(s AS DATE) < DATE '1970-01-01' OR s IS NULL")).toEqual([])
})

test('a logarithm has the type and the digits that the reference gives it', async () => {
  const values = ['h', 'f', 'f32', 'half', 'j', 'u64', 'dec', 'whole', 'NULL']
  const asked = values.flatMap((value) => [
    `log(${value})`,
    ...['2', '10', '2.5', 'j', 'f32', 'half', 'NULL'].flatMap((base) =>
      base === value ? [] : [`log(${base}, ${value})`],
    ),
  ])
  expect(await valueDifferencesOf(seed, asked)).toEqual([])
  expect(await differencesToReferenceOf(315, ['log(abs(h)) = -1', 'log(0.1) = -1'])).toEqual([])
})

test('a literal that a function cannot convert fails for the rows that ask for it', async () => {
  const calls = ['to_unixtime', 'to_date', 'to_timestamp', 'to_timestamp_seconds', 'to_timestamp_micros']
  const asked = calls.flatMap((call) => [
    `${call}('')`,
    `${call}('') <= NULL`,
    `NULL = ${call}('x')`,
    `${call}('') IS NULL`,
    `${call}('2024-01-01') IS NULL`,
  ])
  expect(await valueDifferencesOf(seed, asked)).toEqual([])
  expect(await differencesToReferenceOf(seed, asked)).toEqual([])
})

function tries(column: string, ...types: readonly string[]): string {
  return types.reduce((inner, type) => `TRY_CAST(${inner} AS ${type})`, column)
}

test('beside a literal as many casts are taken away as the reference takes away', async () => {
  const chains = [
    tries('big', 'INT'),
    tries('big', 'INT', 'SMALLINT'),
    tries('big', 'INT', 'TINYINT', 'SMALLINT'),
    tries('big', 'INT', 'SMALLINT', 'TINYINT', 'BIGINT'),
    tries('big', 'INT', 'SMALLINT', 'TINYINT', 'SMALLINT', 'TINYINT'),
    tries('coalesce(big, 0)', 'INT', 'SMALLINT'),
  ]
  const asked = chains.flatMap((chain) => [
    `(${chain} <> 5) IS NULL`,
    `(CAST(${chain} AS STRING) <> '5') IS NULL`,
    `(${chain} BETWEEN 1 AND 5) IS NULL`,
    `(${chain} BETWEEN 5 AND 5) IS NULL`,
    `(${chain} BETWEEN j AND 5) IS NULL`,
    `(${chain} NOT BETWEEN NULL AND 5) IS NULL`,
    `(${chain} IN (5)) IS NULL`,
    `(${chain} NOT IN (5, 1)) IS NULL`,
  ])
  const halves = ['(TRY_CAST(coalesce(i, 1) AS DECIMAL(5, 2)) NOT BETWEEN 1.25 AND 2) IS NULL']
  expect(await valueDifferencesOf(300, [...asked, ...halves])).toEqual([])
  expect(await differencesToReferenceOf(300, [...asked, ...halves])).toEqual([])
})

test('what comes after the first value of a choice is not computed', async () => {
  const asked = [
    'coalesce(CAST(tss AS DECIMAL(20, 4)), single)',
    'coalesce(i, 10 / j)',
    'coalesce(NULL, i, 10 / j)',
    'coalesce(10 / j, i)',
    'nvl(i, 10 / j)',
    'nvl2(i, j, 10 / j)',
    'coalesce(s, t, dict)',
    'coalesce(b, i > 10 / j)',
  ]
  expect(await valueDifferencesOf(607, asked)).toEqual([])
  const conditions = ['coalesce(b, i > 10 / j)', 'NOT coalesce(b, c, i > 2)', 'nvl2(i, j, 10 / j) > 1']
  expect(await differencesToReferenceOf(607, conditions)).toEqual([])
})

test('a position in a list is looked for from right after its last item, too', async () => {
  const asked = ['[1], 1, 1', '[1], 1, 2', '[1], 1, 3', '[1, 2], 1, 3', 'list_f, 5, 2', 'make_array(), 1, 1']
  expect(
    await valueDifferencesOf(
      2016,
      asked.map((args) => `list_position(${args})`),
    ),
  ).toEqual([])
})

const asText = 'CAST(TRY_CAST(i16 AS SMALLINT UNSIGNED) AS STRING)'

test('the text of an integer beside a literal is the integer, where the reference has it so', async () => {
  const asked = [
    ...['1', '0', '-1', '01', '-0', ' 1', '+1', '70000', 'x'].map((text) => `${asText} <> '${text}'`),
    `'1' <> ${asText}`,
    `${asText} NOT IN ('1')`,
    `(${asText} IN ('1')) IS FALSE`,
    `${asText} NOT IN ('1', '2')`,
    `${asText} NOT LIKE '1'`,
    `${asText} NOT ILIKE '1'`,
    `(${asText} BETWEEN '1' AND '1') IS NULL`,
    `(${asText} BETWEEN '1' AND '2') IS NULL`,
    "CAST(CAST(CAST(i16 AS SMALLINT UNSIGNED) AS STRING) AS STRING) = '1'",
    "CAST(CAST(TRY_CAST(i16 AS TINYINT) AS BIGINT) AS STRING) <> '1'",
  ]
  expect(await differencesToReferenceOf(seed, asked)).toEqual([])
  expect(await valueDifferencesOf(seed, asked)).toEqual([])
})

test('parts, escapes, powers and lists that are NULL, empty or computed are taken as the reference takes them', async () => {
  const parts = ['starts_with', 'ends_with', 'contains'].flatMap((test) => [
    `${test}(s, NULL)`,
    `${test}(s, NULL) IS NULL`,
    `coalesce(${test}(dict, NULL), true)`,
  ])
  const patterns = ["'%'", "'%%'", "'a'", "''", "'a!b'", "'a%'", "'a\\b'", 'NULL', 't']
  const likes = patterns.flatMap((pattern) => [
    `s LIKE ${pattern} ESCAPE '!'`,
    `NOT s ILIKE ${pattern} ESCAPE '!'`,
    `s NOT LIKE ${pattern} ESCAPE 'a'`,
  ])
  const others = [
    ...['i8', 'h', 'f32'].map((base) => `power(${base}, 0)`),
    ...['nanvl(f, h)', 'nanvl(f, NULL)', 'nanvl(f32, h)', 'nanvl(f32, 1)', 'nanvl(j, 1)', 'nanvl(dec, h)'],
    ...["regexp_instr(t, '')", "regexp_instr(s, 'q*', 2)", "regexp_instr(s, '$', 2)", "regexp_instr(s, 'p')"],
    ...[
      'array_has_any(tags, [s])',
      'array_has_any(li, [j, 1])',
      "array_has_any(list_d, [DATE '2024-01-01'])",
    ],
    ...[
      "regexp_count(s, '$', 3)",
      "regexp_count(s, '', 100)",
      "s LIKE '%%' ESCAPE '%'",
      "s LIKE '%' ESCAPE '%'",
    ],
    '[s, t]',
    ...['[]', 'make_array()'].flatMap((list) => [
      `array_has_any(tags, ${list})`,
      `array_has_all(tags, ${list})`,
    ]),
    ...['array_has_any([], tags)', 'array_has_all([], tags)', 'array_has_any(NULL, [])'],
  ]
  expect(await valueDifferencesOf(seed, [...parts, ...likes, ...others])).toEqual([])
  expect(await differencesToReferenceOf(seed, [...parts, ...likes])).toEqual([])
})
