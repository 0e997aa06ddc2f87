import { existsSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { CatalogError } from '../../../src/base/errors.ts'
import { compileExpression, compilePredicate } from '../../../src/engine/predicate/index.ts'
import { aggregates } from '../../../src/engine/predicate/syntax/aggregates.ts'
import { field, makeTable, struct, types } from './table.ts'

const { schema } = makeTable({
  id: [types.int64, []],
  i: [types.int32, []],
  u8: [types.uint8, []],
  s: [types.utf8, []],
  b: [types.bool, []],
  d: [types.date, []],
  tags: [types.texts, []],
  delay: [types.int32, []],
  'sp ace': [types.int32, []],
  st: [struct([field('x', types.int32)]), []],
})

function messageOf(predicate: string): string {
  try {
    compilePredicate(predicate, schema)
  } catch (error) {
    expect(error).toBeInstanceOf(CatalogError)
    expect((error as CatalogError).code).toBe('InvalidInput')
    return (error as CatalogError).message
  }
  throw new Error(`not refused: ${predicate.slice(0, 100)}`)
}

describe('says where a predicate is wrong, and what to write instead', () => {
  it.each([
    ['', 'The predicate is empty. Write a condition such as `delay > 60`, or `true` for all rows.'],
    [' -- nothing', 'The predicate is empty.'],
    ['i =', 'it ends at line 1, column 4 (offset 3). Expected a value, a column or an expression there.'],
    ['(i = 1', 'it ends at line 1, column 7 (offset 6). Expected ")" there.'],
    ['i = 1 AND', 'Expected a value, a column or an expression there.'],
    ['i = 1\n  AND AND b', 'found "AND" at line 2, column 7 (offset 12).'],
    [
      'i = 1 b',
      'found "b" at line 1, column 7 (offset 6). Expected an operator or the end of the predicate there.',
    ],
    [
      'i IN (1,)',
      'found ")" at line 1, column 9 (offset 8). Expected a value, a column or an expression there.',
    ],
    ['i BETWEEN 1 OR 2', 'found "OR" at line 1, column 13 (offset 12). Expected AND there.'],
    ['i IS NOT 5', 'found "5" at line 1, column 10 (offset 9). Expected NULL, TRUE or FALSE there.'],
    ["s = 'it's'", `the string "'" that never ends at line 1, column 10 (offset 9).`],
    ['`i = 1', 'the quoted name "`i = 1" that never ends at line 1, column 1 (offset 0).'],
    ['i = 1 /* why', 'the comment "/* why" that never ends at line 1, column 7 (offset 6).'],
    ['i = 1 \u0000', 'the character "\\u0000" has no meaning at line 1, column 7 (offset 6).'],
    ['nope = 1', 'no column named `nope`, which is used at line 1, column 1 (offset 0).'],
    ['dealy > 60', 'Did you mean `delay`?'],
    ['nope = x', "A text is written in single quotes, as 'SFO'. There are"],
    ['nope.x = 1', '(offset 0). There are'],
    ['delay > 1 && delay < 5', 'AND, OR'],
    ['\'x\' = "x"', 'A text is written in single quotes'],
    ['`S` = 1', 'Did you mean `s`?'],
    ['st.y = 1', 'no field named `y`, which is used at line 1, column 1 (offset 0). There are `x`.'],
    ['s.x = 1', 'the field "x" of a value of type string at line 1, column 1 (offset 0).'],
    [
      "id = '1'",
      `a column of type int64 beside the string literal '1', which is at line 1, column 6 (offset 5).`,
    ],
    [
      'u8 = 300',
      'a column of type uint8 beside the int64 literal 300, which is at line 1, column 6 (offset 5).',
    ],
    ["NOT (d = 'x')", 'the string "x" that is no date32:day at line 1, column 8 (offset 7).'],
    ['b > 1 = b', 'a comparison of bool with int64 at line 1, column 3 (offset 2).'],
    ['s + 1 = 2', '+ between string and int64 at line 1, column 3 (offset 2).'],
    ['i', 'a predicate of type int32 at line 1, column 1 (offset 0). Write a condition'],
    ['NOT i', 'NOT over a value of type int32 at line 1, column 1 (offset 0).'],
    ['st = st', 'into which predicates cannot look, at line 1, column 4 (offset 3).'],
    ['lenght(s) = 1', 'an unknown function "lenght" at line 1, column 1 (offset 0). Did you mean length?'],
    ['upper() = s', 'upper with 0 arguments at line 1, column 1 (offset 0). It takes 1.'],
    [
      'upper(i) = s',
      'upper with int32 as argument 1 at line 1, column 1 (offset 0). It takes a string there.',
    ],
    ["regexp_like(s, '(')", 'the pattern "(", which is no regular expression'],
    [
      "date_part('yeer', d) = 1",
      'the part "yeer" of a date at line 1, column 1 (offset 0). Use one of year,',
    ],
    [
      'CAST(i AS VARCHAR) = s',
      'the type "VARCHAR", which values cannot be cast to, at line 1, column 11 (offset 10).',
    ],
  ])('%j', (predicate, message) => {
    expect(messageOf(predicate)).toContain(message)
  })

  it.each([
    'CASE WHEN b THEN 1 ELSE 2 END = 1',
    "SUBSTR(s, 1) = 'a'",
    "TRIM(s) = 'a'",
    'FLOOR(i) = 1',
    'EXTRACT(YEAR FROM d) = 2024',
    'EXISTS (SELECT 1)',
    "s ~ 'a'",
    's SIMILAR TO s',
    'i ^ 1 = 1',
    'i <=> 1',
    'CURRENT_TIME = i',
    'i IS DISTINCT FROM 1',
    'b IS UNKNOWN',
    'i = ANY (1)',
    'i = +1',
    '(i, i) = (1, 2)',
    "d + INTERVAL '1 day' = d",
    "s LIKE 'a%' ESCAPE '!'",
    'i::timestamp with time zone = d',
  ])('%s', (predicate) => {
    expect(messageOf(predicate)).toMatch(
      /not supported by this catalog, but stands at line 1, column \d+ .*\. \w/,
    )
  })

  it('shows no more than a piece of what it was given', () => {
    const message = messageOf(`i = '${'x'.repeat(60_000)}'`)
    expect(message.length).toBeLessThan(400)
    expect(messageOf(`${'y'.repeat(60_000)} = 1`).length).toBeLessThan(400)
  })
})

describe('aggregates', () => {
  const names = [...aggregates]
  const page = 'docs/analyse.md'
  const refusal = (expression: string, ofValues: boolean) => {
    if (!ofValues) return messageOf(expression)
    try {
      compileExpression(expression, schema)
    } catch (error) {
      return (error as Error).message
    }
    throw new Error(`not refused: ${expression}`)
  }

  it('are refused wherever they stand, and the error names the page that shows them', () => {
    const name = fc
      .tuple(fc.constantFrom(...names), fc.boolean(), fc.boolean())
      .map(([plain, up, quoted]) => {
        const cased = up ? plain.toUpperCase() : plain
        return quoted ? `"${cased}"` : cased
      })
    const args = fc.constantFrom('i', '*', 'DISTINCT i', 'all i', 'i, 2', 'i ORDER BY id', '', 'abs(i)')
    const call = fc.tuple(name, args).map(([called, given]) => `${called}(${given})`)
    const around = fc.constantFrom(
      ...[
        '@',
        '@ > 1',
        '1 < @',
        'i > 0 AND @ > 1',
        'abs(@) = 1',
        'NOT (b OR @ = 2)',
        '@ OVER () = 1',
        '-@ = 1',
      ],
      ...[
        'i IN (1, @)',
        'CAST(@ AS BIGINT) = 1',
        'i BETWEEN @ AND 3',
        'tags[@] = s',
        '@ FILTER (WHERE b) > 1',
      ],
    )
    fc.assert(
      fc.property(call, around, fc.boolean(), (called, form, ofValues) => {
        const message = refusal(form.replace('@', called), ofValues)
        expect(message).toMatch(/^Invalid (predicate|expression): the aggregate \w+\(…\) is not supported/)
        expect(message).toContain(page)
      }),
    )
  })

  it.each(['DISTINCT i', 'distinct (i)', 'i > 1 GROUP BY s', 'b HAVING b', 'i = (SELECT 1)', 'b UNION b'])(
    '%s: is refused in the same way',
    (text) => {
      for (const ofValues of [false, true]) expect(refusal(text, ofValues)).toContain(page)
    },
  )

  it('have names that no function of the language has, and columns may have them', () => {
    const words = [...names, 'distinct', 'group', 'having', 'over', 'union', 'join', 'order', 'limit']
    const { schema: named } = makeTable(Object.fromEntries(words.map((word) => [word, [types.int32, []]])))
    for (const word of words) {
      for (const text of [
        `${word} = 1`,
        `"${word}" > 1 AND ${word} IS NULL`,
        `2 < ${word}`,
        `abs(${word}) = 1`,
      ])
        expect(() => compilePredicate(text, named), text).not.toThrow()
    }
  })

  it('are on the page', () => {
    expect(existsSync(new URL(`../../../${page}`, import.meta.url))).toBe(true)
  })
})

describe('bounds what it takes', () => {
  it('refuses a call of too many arguments, and takes one less', () => {
    const call = (count: number) => `coalesce(${Array(count).fill('i').join()}) = 1`
    expect(messageOf(call(4_097))).toMatch('"coalesce" has 4097 arguments at line 1, column 1')
    expect(() => compilePredicate(call(4_096), schema)).not.toThrow()
  })

  it.each([
    ['( nested 100,000 deep', '('.repeat(100_000)],
    ['NOT nested 10,000 deep', `${'NOT '.repeat(10_000)}b`],
    ['minus nested 30,000 deep', `${'- '.repeat(30_000)}i = 1`],
    ['( nested 201 deep', `${'('.repeat(201)}b${')'.repeat(201)}`],
    ['calls nested 3,000 deep', `${'abs('.repeat(3_000)}i${')'.repeat(3_000)} = 1`],
    ['additions, 5,000 of them', `i${' + 1'.repeat(5_000)} = 1`],
    ['subscripts, 5,000 of them', `tags${'[1]'.repeat(5_000)} = 1`],
    ['a text of 10 MB', 'b OR '.repeat(2_000_000)],
    ['a text of 64 KiB in characters, but not in bytes', `s = '${'é'.repeat(40_000)}'`],
  ])('refuses %s', (_, predicate) => {
    expect(messageOf(predicate)).toMatch(/nested more than 200 levels deep|bytes long and can be 65536/)
  })

  it.each([
    ['OR', 'OR b '.repeat(13_000)],
    ['AND', 'AND b '.repeat(10_000)],
    ['AND and OR', 'OR i = 1 AND b '.repeat(4_000)],
    ['BETWEEN', 'AND i BETWEEN 1 AND 2 '.repeat(2_500)],
  ])('takes a long chain of %s', (_, chain) => {
    expect(compilePredicate(`b ${chain}`, schema).columns).toContain(4)
  })

  it('takes a long list', () => {
    const list = Array.from({ length: 10_000 }, (_, i) => i).join(',')
    expect(compilePredicate(`i IN (${list})`, schema).columns).toEqual([1])
  })

  it('does not double what a nested BETWEEN is about', () => {
    let predicate = 'b'
    for (let i = 0; i < 150; i++) predicate = `(${predicate}) BETWEEN false AND true`
    expect(compilePredicate(predicate, schema).columns).toEqual([4])
  })
})

describe('any text', () => {
  const pieces = fc.constantFrom(
    ...[
      'i',
      's',
      'b',
      'st',
      'tags',
      '1',
      '1.5',
      "'a'",
      "'",
      '"',
      '`',
      '(',
      ')',
      '[',
      ']',
      ',',
      '.',
      ';',
      '-',
    ],
    ...['+', '*', '/', '%', '=', '<', '>', '!', '|', '||', 'AND', 'OR', 'NOT', 'IN', 'IS', 'NULL', 'LIKE'],
    ...[
      'BETWEEN',
      'CAST',
      'AS',
      'INT',
      'DATE',
      'upper',
      'abs',
      'regexp_like',
      'x',
      '--',
      '/*',
      '*/',
      '\n',
      '::',
    ],
    ...['0x', '1e', "X'", 'true', '\ud83d', '\u{1f600}', '\\', '__proto__', 'constructor', 'CASE', '$', '?'],
  )

  it('is taken or refused, and nothing else', () => {
    const texts = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 60 }),
      fc.array(pieces, { maxLength: 25 }).map((all) => all.join(' ')),
      fc.array(pieces, { maxLength: 25 }).map((all) => all.join('')),
    )
    fc.assert(
      fc.property(texts, (text) => {
        try {
          compilePredicate(text, schema)
        } catch (error) {
          expect(error).toBeInstanceOf(CatalogError)
          expect((error as CatalogError).code).toBe('InvalidInput')
        }
      }),
      { numRuns: 2_500 },
    )
  })
})
