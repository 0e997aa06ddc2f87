import { expect, test } from 'vitest'
import { differencesAmongUs, differencesToReference, differencesToReferenceOf } from './reference/judges.ts'
import { valueDifferences, valueDifferencesOf } from './reference/value-judge.ts'

/*
 * A few of the predicates that are drawn without end elsewhere: `npm run soak -- --only predicates`.
 */

const seed = Number(process.env.PREDICATE_SEED ?? 20_240_229)

test('comparisons over columns of all types mean the same to an interpreter, and of the term as a column', () => {
  const differences = differencesAmongUs(seed, 1_000)
  expect(differences.slice(0, 40).join('\n'), `${differences.length} differ`).toBe('')
})

test('predicates answer as the reference does', async () => {
  const differences = await differencesToReference(seed, 1_000)
  expect(differences.slice(0, 40).join('\n'), `${differences.length} differ`).toBe('')
})

test('expressions have the values and the types of the reference', async () => {
  const differences = await valueDifferences(seed, 500)
  expect(differences.slice(0, 40).join('\n'), `${differences.length} differ`).toBe('')
})

// Each of them was drawn once, and differed, over the table of its seed.
test.each([
  [211, 'nullif(CAST(day64 - d AS TIMESTAMP), at_s)'],
  [215, 'coalesce(CAST(-(day64 - d) AS TIMESTAMP), NULL)'],
  [253, "CAST(concat(CAST(u8 AS TIMESTAMP(9)), '-', at_u) AS STRING)::BINARY"],
  [315, 'log(abs(h))'],
  [631, "coalesce(CAST(coalesce(dec + dec, 0) AS DATE), NULL) IN (DATE '1969-12-31')"],
  [702, "to_unixtime('') <= NULL"],
  [715, 'log(2, abs(half))'],
])('the values of seed %i are those of the reference: %s', async (seed, text) => {
  expect(await valueDifferencesOf(seed, [text])).toEqual([])
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
