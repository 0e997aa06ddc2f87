import fc from 'fast-check'
import { parse as losslessParse, stringify as losslessStringify } from 'lossless-json'
import { describe, expect, test } from 'vitest'
import { CatalogError } from '../../src/base/errors.ts'
import { parse, stringify } from '../../src/iceberg/json.ts'

/** What lossless-json makes of a number is for its caller to say. */
function toNumber(digits: string): number | bigint {
  const value = Number(digits)
  return /[.eE]/.test(digits) || Number.isSafeInteger(value) ? value : BigInt(digits)
}

const reference = (text: string) => losslessParse(text, undefined, toNumber)

function outcome(text: string, by: (text: string) => unknown): unknown {
  try {
    return { value: by(text) }
  } catch {
    return 'refused'
  }
}

const edges = ['9007199254740991', '9007199254740992', '9007199254740993', '9223372036854775807']
const digits = fc.oneof(
  fc.constantFrom(...edges),
  fc.bigInt({ min: 0n, max: 2n ** 64n }).map(String),
  fc.bigInt({ min: 0n, max: 2n ** 400n }).map(String),
  fc.nat().map(String),
)
const sign = fc.constantFrom('', '-')
const numbers = fc.oneof(
  fc.tuple(sign, digits).map((parts) => parts.join('')),
  fc
    .tuple(sign, digits, fc.constantFrom('.0', '.5', '.00123', 'e2', 'E+1', 'e-3', '.5e3', '.25e-2', 'e400'))
    .map((parts) => parts.join('')),
  fc.constantFrom(
    '9.007199254740992e15',
    '9007199254740992.0',
    '1e16',
    '1e999',
    '-1e999',
    '-0',
    '0',
    '1e-400',
  ),
)
/** Inside strings: what looks like numbers, structure and escapes. */
const words = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc
    .array(fc.constantFrom(...edges, '"', '\\', '\\"', ':', ',', '[', '{', '}', ' ', 'é', '\n', '\ud800'))
    .map((parts) => parts.join('')),
)
const strings = words.map((word) => JSON.stringify(word))
const blanks = fc.constantFrom('', '', ' ', '\n\t', '\r\n ')

const { texts } = fc.letrec<{ texts: string; array: string; object: string }>((tie) => ({
  texts: fc.oneof(
    { depthSize: 'small' },
    fc.oneof(numbers, strings, fc.constantFrom('true', 'false', 'null')),
    tie('array'),
    tie('object'),
  ),
  array: fc
    .tuple(fc.array(tie('texts'), { maxLength: 5 }), blanks)
    .map(([items, blank]) => `${blank}[${blank}${items.join(`${blank},${blank}`)}${blank}]`),
  object: fc
    .tuple(
      fc.uniqueArray(fc.tuple(fc.oneof(words, fc.constant('__proto__')), tie('texts')), {
        maxLength: 5,
        selector: ([name]) => name,
      }),
      blanks,
    )
    .map(([members, blank]) => {
      const written = members.map(([name, value]) => `${JSON.stringify(name)}${blank}:${blank}${value}`)
      return `{${blank}${written.join(`${blank},${blank}`)}${blank}}${blank}`
    }),
}))

describe('parsing', () => {
  test('keeps all digits of integers, and numbers where they are exact', () => {
    expect(parse('[9007199254740991,-9007199254740991,1234567890123456]')).toEqual([
      9007199254740991, -9007199254740991, 1234567890123456,
    ])
    expect(parse(' 9007199254740992 ')).toBe(9007199254740992n)
    expect(parse('{"a":[-9223372036854775808,{"b":9223372036854775807}]}')).toEqual({
      a: [-9223372036854775808n, { b: 9223372036854775807n }],
    })
  })

  test('does not take a number for the stand-in of another', () => {
    const text =
      '[9007199254740995,9.007199254740992e15,9007199254740994,9007199254740994.0,1e16,1e400,-9007199254740992]'
    const large = 9007199254740992
    expect(parse(text)).toEqual([
      9007199254740995n,
      large,
      9007199254740994n,
      large + 2,
      1e16,
      Number.POSITIVE_INFINITY,
      -9007199254740992n,
    ])
  })

  test('leaves digits inside of strings and names alone', () => {
    const text =
      '{"1234567890123456789":"a:1234567890123456789,\\"1234567890123456789\\\\","b":[1234567890123456789]}'
    const word = 'a:1234567890123456789,"1234567890123456789\\'
    expect(parse(text)).toEqual({ '1234567890123456789': word, b: [1234567890123456789n] })
  })

  test('lets the last of members with one name win', () => {
    expect(parse('{"a":1234567890123456789,"b":1,"a":2}')).toEqual({ a: 2, b: 1 })
    expect(parse('{"a":{"c":9007199254740993},"a":9007199254740995}')).toEqual({ a: 9007199254740995n })
  })

  test.each([
    '{"__proto__":{"x":1},"y":2}',
    '{"__proto__":{"x":1234567890123456789},"y":2}',
    '{"__proto__":1234567890123456789}',
  ])('makes __proto__ a member: %s', (text) => {
    const value = parse(text) as object
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype)
    expect(Object.hasOwn(value, '__proto__')).toBe(true)
    expect((value as { x?: unknown }).x).toBeUndefined()
    expect(stringify(value)).toBe(text)
  })

  test('reads deep nesting', () => {
    const depth = 100_000
    let value = parse(`${'['.repeat(depth)}9007199254740993${']'.repeat(depth)}`)
    for (let level = 0; level < depth; level++) value = (value as unknown[])[0]
    expect(value).toBe(9007199254740993n)
  })

  test('agrees with lossless-json', () => {
    fc.assert(
      fc.property(texts, (text) => {
        expect(parse(text)).toEqual(reference(text))
        expect(losslessStringify(parse(text))).toBe(losslessStringify(reference(text)))
      }),
      { numRuns: 2000 },
    )
  })

  test('agrees with lossless-json on what is refused, for texts with one change', () => {
    const piece = fc.constantFrom(
      '',
      '"',
      '\\',
      '0',
      '01',
      '.',
      'e',
      '-',
      '+',
      '9007199254740993',
      '}',
      ']',
      ',',
      ':',
      ' ',
      '\u0001',
    )
    const changed = fc.tuple(texts, fc.nat(), fc.nat({ max: 3 }), piece).map(([text, place, cut, insert]) => {
      const at = place % (text.length + 1)
      return text.slice(0, at) + insert + text.slice(at + cut)
    })
    fc.assert(
      fc.property(changed, (text) => {
        const expected = outcome(text, JSON.parse)
        expect(outcome(text, parse) === 'refused').toBe(expected === 'refused')
        // lossless-json refuses two members of one name.
        const other = outcome(text, reference)
        if (expected !== 'refused' && other !== 'refused') expect(outcome(text, parse)).toEqual(other)
      }),
      { numRuns: 3000 },
    )
  })

  const faults: [string, string][] = [
    ['', 'at position 0 (line 1, column 1): expected a value, found the end'],
    ['{"a":}', 'at position 5 (line 1, column 6): expected a value, found "}"'],
    ['{"a":1,}', 'at position 7 (line 1, column 8): expected a name in quotes, found "}"'],
    ['{a', 'at position 1 (line 1, column 2): expected a name in quotes or "}", found "a"'],
    ['{"a" 1}', 'at position 5 (line 1, column 6): expected a colon, found "1"'],
    ['{"a":1 "b"', 'at position 7 (line 1, column 8): expected a comma or "}", found "\\""'],
    ['[1\n,2,\n]', 'at position 7 (line 3, column 1): expected a value, found "]"'],
    ['[1}', 'at position 2 (line 1, column 3): expected a comma or "]", found "}"'],
    ['[1] 2', 'at position 4 (line 1, column 5): expected the end, found "2"'],
    ['["a', 'at position 3 (line 1, column 4): expected the end of a string, found the end'],
    ['["a\nb"]', 'at position 3 (line 1, column 4): expected an escape for a control character, found "\\n"'],
    ['["\\x"]', 'at position 2 (line 1, column 3): expected an escape such as \\n or \\u00e9, found "\\\\"'],
    ['[0123456789012345678]', 'at position 2 (line 1, column 3): expected a comma or "]", found "1"'],
    ['[12345678901234567890.]', 'at position 21 (line 1, column 22): expected a comma or "]", found "."'],
    ['[9007199254740993,{"a":[]},"",tru]', 'at position 30 (line 1, column 31): expected a value, found "t"'],
  ]
  test.each(faults)('says where %j is at fault', (text, place) => {
    expect(() => parse(text)).toThrow(
      expect.objectContaining({ code: 'InvalidInput', message: expect.stringContaining(place) }),
    )
  })

  test('names a position for whatever is refused', () => {
    const soup = fc.array(
      fc.oneof(texts, fc.constantFrom('{', '}', '[', ']', ',', ':', '"', '\\', '1', '-', 't', '\u0000')),
    )
    fc.assert(
      fc.property(
        soup.map((parts) => parts.join('')),
        (text) => {
          const expected = outcome(text, JSON.parse)
          try {
            parse(text)
            expect(expected).not.toBe('refused')
          } catch (error) {
            expect(expected).toBe('refused')
            expect(error).toBeInstanceOf(CatalogError)
            const [, position] = /at position (\d+)/.exec((error as Error).message)!
            expect(Number(position)).toBeLessThanOrEqual(text.length)
            expect((error as Error).message).not.toContain('what this runtime reads')
          }
        },
      ),
      { numRuns: 2000 },
    )
  })

  test('refuses integers that take long to convert', () => {
    expect(parse('9'.repeat(1000))).toBe(10n ** 1000n - 1n)
    expect(() => parse(`[${'9'.repeat(1001)}]`)).toThrow(
      'The integer at position 1 has more than 1000 digits',
    )
  })
})

describe('writing', () => {
  test('writes all digits of a bigint', () => {
    const value = { id: 9223372036854775807n, ids: [1, -9007199254740993n, null], summary: { a: 'b' } }
    expect(stringify(value)).toBe(
      '{"id":9223372036854775807,"ids":[1,-9007199254740993,null],"summary":{"a":"b"}}',
    )
    expect(stringify(5n)).toBe('5')
  })

  test('writes what it parsed', () => {
    fc.assert(
      fc.property(texts, (text) => {
        const value = parse(text)
        const written = stringify(value)
        expect(written).toBe(losslessStringify(value))
        // Infinity is null in JSON, -0 is 0, and 9007199254740992.0 loses its fraction.
        if (!/[.e]|-0/i.test(text)) expect(parse(written)).toEqual(value)
      }),
      { numRuns: 1000 },
    )
  })

  test('is JSON.stringify where there is no bigint', () => {
    const anything = fc.anything({
      withDate: true,
      withBoxedValues: true,
      withMap: true,
      withSparseArray: true,
      withNullPrototype: true,
    })
    fc.assert(
      fc.property(anything, (value) => {
        const expected = JSON.stringify(value)
        if (expected === undefined) expect(() => stringify(value)).toThrow('has no JSON')
        else expect(stringify(value)).toBe(expected)
        // A bigint beside it makes this module write the value.
        if (expected !== undefined)
          expect(stringify({ id: 1n, value, list: [value, 2n] })).toBe(
            `{"id":1,"value":${expected},"list":[${expected},2]}`,
          )
        else expect(stringify({ id: 1n, value, list: [value, 2n] })).toBe('{"id":1,"list":[null,2]}')
      }),
    )
  })

  test('leaves out undefined members, and writes their null in arrays', () => {
    expect(stringify({ a: undefined, b: 1n, c: [undefined, { d: undefined, e: 2n }], f: () => 1 })).toBe(
      '{"b":1,"c":[null,{"e":2}]}',
    )
    expect(stringify({ at: new Date(0), id: 1n })).toBe('{"at":"1970-01-01T00:00:00.000Z","id":1}')
  })

  test('refuses what is no tree', () => {
    const loop: Record<string, unknown> = { id: 1n }
    loop.self = loop
    const plain: unknown[] = []
    plain.push(plain)
    let deep: unknown = 1n
    for (let level = 0; level < 100_000; level++) deep = [deep]
    for (const value of [loop, plain, deep]) {
      expect(() => stringify(value)).toThrow(expect.objectContaining({ code: 'InvalidInput' }))
    }
  })

  test('passes on the error of a toJSON', () => {
    const fault = new TypeError('mine')
    expect(() =>
      stringify({
        id: 1n,
        toJSON: () => {
          throw fault
        },
      }),
    ).toThrow(fault)
  })
})
