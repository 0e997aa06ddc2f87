import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type JsonLimits, parseJson } from '../../../src/server/core/json.ts'

const limits: JsonLimits = { jsonDepth: 64, jsonValues: 100_000, jsonMembers: 1_000, jsonTextBytes: 10_000 }

/** What `JSON.parse` makes of a text, and what it takes to see all of it: order of keys, and `__proto__`. */
function expected(text: string): string {
  try {
    return shown(JSON.parse(text))
  } catch {
    return 'refused'
  }
}

async function found(bytes: Buffer, piece: number): Promise<string> {
  try {
    return shown(await parseJson(bytes, limits, piece))
  } catch (error) {
    expect(error).toMatchObject({ code: 'InvalidInput' })
    return 'refused'
  }
}

function shown(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(shown).join()}]`
  if (typeof value !== 'object' || value === null) return Object.is(value, -0) ? '-0' : JSON.stringify(value)
  const members = Object.getOwnPropertyNames(value).map(
    (name) => `${JSON.stringify(name)}:${shown(Object.getOwnPropertyDescriptor(value, name)!.value)}`,
  )
  return `{${members.join()}}`
}

const space = fc.constantFrom('', '', ' ', '\n', '\t \r')
const scalar = fc.constantFrom(
  '1',
  '-0',
  '1e400',
  '0.1234567890123456789',
  'true',
  'null',
  '""',
  '"é,]}"',
  '"\\"[,{"',
  '"\\\\"',
  '"\\ud83d\\ude00 😀"',
  '"\\u0041"',
)
const key = fc.constantFrom('"a"', '"b"', '"1"', '"0"', '"__proto__"', '"\\u0061"', '"é\\",{"', '""')

/** JSON with keys that come twice, and blanks where they may be. */
const { json } = fc.letrec<{ json: string }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 6, depthSize: 'small' },
    scalar,
    fc
      .array(fc.tuple(space, tie('json'), space), { maxLength: 12 })
      .map((items) => `[${items.map((i) => i.join('')).join()}]`),
    fc
      .array(fc.tuple(space, key, space, fc.constant(':'), space, tie('json'), space), { maxLength: 12 })
      .map((members) => `{${members.map((m) => m.join('')).join()}}`),
  ),
}))

/** The same with some characters taken out, put in or exchanged. */
const broken = fc
  .tuple(
    json,
    fc.array(
      fc.tuple(fc.nat(), fc.constantFrom('', ',', '[', ']', '{', '}', '"', ':', ' ', '1', '\\', ',,')),
      { minLength: 1, maxLength: 3 },
    ),
  )
  .map(([text, edits]) =>
    edits.reduce((now, [at, put]) => {
      const place = at % (now.length + 1)
      return now.slice(0, place) + put + now.slice(place + (at % 2))
    }, text),
  )

describe('a JSON body parsed in pieces', () => {
  it.each([
    ['JSON', json],
    ['what is nearly JSON', broken],
  ] as const)('means what JSON.parse makes of it: %s', async (_, texts) => {
    await fc.assert(
      fc.asyncProperty(
        space,
        texts,
        space,
        fc.constantFrom(1, 2, 5, 20, 60),
        async (before, text, after, piece) => {
          const all = before + text + after
          if (all === '') return
          // An edit may leave half of a character.
          const bytes = Buffer.from(all)
          expect(await found(bytes, piece)).toBe(expected(bytes.toString()))
        },
      ),
      { numRuns: 1_500 },
    )
  })

  it('means the same where it is large', async () => {
    const value = {
      list: Array.from({ length: 900 }, (_, i) => ({
        id: ['prod', `t${i}`],
        properties: { a: 'é'.repeat(i % 50), n: i },
      })),
      deep: [[[[Array.from({ length: 5_000 }, (_, i) => i / 3)]]]],
      rest: 'x',
    }
    const bytes = Buffer.from(JSON.stringify(value, undefined, 1))
    expect(await parseJson(bytes, limits)).toEqual(value)
  })

  it('says where it is broken', async () => {
    const text = JSON.stringify(Array.from({ length: 20_000 }, (_, i) => i)).replace(',15000,', ',15000;')
    await expect(async () => parseJson(Buffer.from(text), limits)).rejects.toThrow(
      /not valid JSON: .* near byte [\d,]+\. Check what is sent\./,
    )
  })
})

const times = (count: number, text: (i: number) => string) =>
  Array.from({ length: count }, (_, i) => text(i)).join()
const lists = (count: number, item: string) => `[${times(count, () => item)}]`

describe.each([
  ['a small body', 0],
  ['a large one', 100_000],
])('the limits of %s', (_, blanks) => {
  const parse = (text: string) =>
    // Blanks at the end make it large, and no member long.
    new Promise((resolve) =>
      resolve(parseJson(Buffer.from(`[${text},[0${',0'.repeat(blanks / 2)}]]`), limits)),
    )
  it.each([
    [
      'nests deeper than 64 levels',
      'jsonDepth',
      '['.repeat(63) + ']'.repeat(63),
      '['.repeat(64) + ']'.repeat(64),
    ],
    [
      'has an object of more than 1,000 members',
      'jsonMembers',
      `{${times(1_000, (i) => `"k${i}":1`)}}`,
      `{${times(1_001, (i) => `"k${i}":1`)}}`,
    ],
    ...['"a"', '[]', '{}'].map((item) => [
      'has a list of more than 1,000 members',
      'jsonMembers',
      lists(1_000, item),
      lists(1_001, item),
    ]),
    ['has more than 100,000 values', 'jsonValues', lists(40_000, '1'), lists(100_000, '1')],
    [
      'has a member of more than 10,000 bytes',
      'jsonTextBytes',
      `"${'é'.repeat(4_999)}"`,
      `"${'é'.repeat(5_000)}"`,
    ],
    [
      'has a member of more than 10,000 bytes',
      'jsonTextBytes',
      `1${' '.repeat(9_000)}`,
      `1${' '.repeat(10_001)}`,
    ],
    ['has a member of more than 10,000 bytes', 'jsonTextBytes', '1'.repeat(9_000), '1'.repeat(10_001)],
  ])('%s (%s)', async (said, limit, most, more) => {
    await expect(parse(most)).resolves.toBeDefined()
    await expect(parse(more)).rejects.toMatchObject({
      code: 'InvalidInput',
      message: expect.stringMatching(
        new RegExp(`^The body ${said}, the most here \\(limits\\.${limit}\\)\\.`),
      ),
    })
  })
})

// Each takes as long as all before it together: V8 hashes them by their length alone.
it('a body with many long names is refused, and one with a few is not', async () => {
  const wide = { ...limits, jsonTextBytes: 100_000 }
  const parse = async (names: number) =>
    parseJson(Buffer.from(`{${times(names, (i) => `"${'k'.repeat(16_400)}${i}" : "a:b"`)}}`), wide)
  expect(Object.keys((await parse(64)) as object)).toHaveLength(64)
  await expect(parse(65)).rejects.toMatchObject({
    code: 'InvalidInput',
    message: 'The body has more than 64 names of more than 16,383 bytes. Use shorter names.',
  })
  const values = `[${times(100, () => `"${'k'.repeat(16_400)}"`)}, {"a":"${':'.repeat(20_000)}"}]`
  expect(await parseJson(Buffer.from(values), wide)).toHaveLength(101)
})
