import fc from 'fast-check'
import { atom } from './atoms.ts'
import { form } from './forms.ts'
import { Maker } from './maker.ts'
import { comparison, term } from './typed.ts'
import { anyColumn, date, number, quote, text, timestamp, value } from './values.ts'

/** An expression for values that both sides read the same way. */
export const expressions: fc.Arbitrary<string> = fc.gen().map((draw) => expression(new Maker(draw)))

/** The same with CASE, which the reference does not have. */
export const expressionsWithCase: fc.Arbitrary<string> = fc.gen().map((draw) => {
  const m = new Maker(draw)
  return m.chance(30) ? expression(m) : caseOf(m, 2)
})

function expression(m: Maker): string {
  if (m.chance(15)) return form(m)
  if (m.chance(50)) return m.chance(80) ? term(m, 2).text : compared(m)
  return m.one(
    () => anyColumn(m),
    () => number(m, 2),
    () => number(m, 1),
    () => text(m, 2),
    () => value(m, 2),
    () => atom(m),
    () => `CAST(${number(m, 1)} AS ${m.pick('STRING', 'BIGINT', 'DOUBLE', 'FLOAT')})`,
    () => `TRY_CAST(${m.pick('s', 'f', 'big', 'ts', 'h')} AS ${m.pick('INT', 'DOUBLE', 'STRING')})`,
    () => m.pick('i + 1', 'i8 * 100', 'u8 + 1', 'j * j', 'f32 * 2.5', 'h / 3', 'i / j', 'i % j', '-i', '-h'),
    () =>
      m.pick("s || '!'", 's || t', 'upper(Name)', 'tags[1]', 'li[1] + 1', 'coalesce(i, 0)', 'nullif(j, 1)'),
    () => m.pick('b AND c', 'NOT b', 'i IS NULL', 'b IS TRUE', 'd', 'dec', 'dec + dec', 'array_length(li)'),
  )
}

function compared(m: Maker): string {
  const { term: given, of } = comparison(m)
  return of(given.text)
}

function caseOf(m: Maker, depth: number): string {
  const [value, other] = m.one<readonly [() => string, string]>(
    () => [() => m.pick('i', 'j + 1', '0', 'NULL', '10 / j', '-1'), 'i'],
    () => [() => m.pick('h', 'f', '1.5', 'h * 2', 'NULL'), 'h'],
    () => [() => m.pick('s', "'x'", "t || 'y'", 'NULL', 'upper(s)'), 't'],
    () => [() => m.pick('b', 'true', 'i > 1', 'NULL', 'c AND b'), 'c'],
    () => [() => m.pick('d', date(m), 'NULL'), 'e'],
    () => [() => m.pick('ts', timestamp(m), 'NULL'), 'ts2'],
    () => [() => m.pick('tags', 'NULL'), 'tags'],
    () => [() => m.pick('dec', 'NULL', '1'), 'dec'],
  )
  const result = () => (depth > 0 && m.chance(15) && other === 'i' ? `(${intCase(m, depth - 1)})` : value())
  const branch = () =>
    m.chance(60)
      ? `WHEN ${m.chance(40) ? atom(m) : m.pick('i > 1', 'b', 'j <> 0', 's IS NULL', 'false', 'NULL')} THEN ${result()}`
      : undefined
  const branches = [branch(), branch(), branch()].filter((one) => one !== undefined)
  const end = m.pick(` ELSE ${other}`, ` ELSE ${result()}`, '')
  if (branches.length > 0) return `CASE ${branches.join(' ')}${end} END`
  const [operand, when] = m.pick(
    ['j', () => m.pick('1', '2', 'i', 'NULL', '10 / j')],
    ['s', () => quote(m.pick('a', 'A', 'b', ''))],
    ['b', () => m.pick('true', 'c', 'false')],
    ['i8 + 1', () => m.pick('1', 'j', '300')],
  ) as readonly [string, () => string]
  return `CASE ${operand} WHEN ${when()} THEN ${result()} WHEN ${when()} THEN ${result()}${end} END`
}

function intCase(m: Maker, depth: number): string {
  return `CASE WHEN ${atom(m)} THEN j ELSE ${depth > 0 && m.chance(50) ? intCase(m, depth - 1) : '10 / j'} END`
}
