import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { operations } from '../../src/catalog/operations/index.ts'
import {
  contextOfHeaders,
  decodePathId,
  decodeQuery,
  encodePathId,
  encodeQuery,
  headersOfContext,
  wire,
} from '../../src/protocol/wire.ts'
import { matchPath } from '../../src/server/core/routing.ts'
import { CatalogError } from '../../src/tabularium/index.ts'

const name = fc
  .string({ unit: 'binary', minLength: 1, maxLength: 20 })
  .filter((text) => text.isWellFormed() && !text.includes('$'))

describe('the table of routes', () => {
  it('has every operation of the record, each with a path of its own', () => {
    expect(Object.keys(wire).sort()).toStrictEqual(Object.keys(operations).sort())
    const paths = Object.values(wire).map(({ path }) => path)
    expect(new Set(paths).size).toBe(paths.length)
  })

  it('sends in the query only what the request has', () => {
    for (const [operation, { query, queryToo, body }] of Object.entries(wire)) {
      const { definition } = operations[operation as keyof typeof operations]
      if (
        definition.errors.some((code) => (code as string) === 'Unsupported') &&
        definition.errors.length === 1
      )
        continue
      const fields = Object.keys((definition.request as unknown as { entries: object }).entries)
      expect(fields, operation).toStrictEqual(expect.arrayContaining(Object.keys({ ...query, ...queryToo })))
      if (body === 'arrow') expect(fields).toContain('data')
      if (body === 'metadata') expect(fields).toContain('metadata')
    }
  })

  it('is what paths lead to, slashes at either end or not, wherever it is mounted', () => {
    for (const [operation, { path }] of Object.entries(wire)) {
      const id = path.includes('{id}') ? 'a%24b+c' : undefined
      const indexName = path.includes('{index_name}') ? 'by%2Fname' : undefined
      const real = path.replace('{id}', id!).replace('{index_name}', indexName!)
      const expected = { operation, route: wire[operation as keyof typeof wire], id, indexName }
      for (const [given, mounted] of [
        [real, 0],
        [`${real}/`, 0],
        [`/${real}`, 0],
        [`///${real}/`, 0],
        [`/catalog${real}`, 1],
        [`/my/catalog/${real}/`, 2],
      ] as const) {
        expect(matchPath(given, mounted), given).toStrictEqual(expected)
      }
    }
  })

  it.each([
    '/',
    '',
    '/v1',
    '/v1/',
    '/v2/table',
    '/v1/tables',
    '/v1/table/x',
    '/v1/table/x/y',
    '/v1/table/x/describe/y',
    '/v1/table/x//describe',
    '/v1/table/x/describe//',
    '/v1/table/x/index/y',
    '/v1/table/x/index/y/z',
    '/v1/table/x/index//stats',
    '/v1/TABLE/x/describe',
    '/v1/table/x/constructor',
    '/v1/__proto__/x/y',
  ])('leads nowhere from %s', (path) => {
    expect(matchPath(path)).toBeUndefined()
  })
})

describe('identifiers in paths', () => {
  it('come back as they were, whatever the names and the delimiter', () => {
    fc.assert(
      fc.property(
        fc.array(name, { maxLength: 4 }),
        fc.string({ unit: 'binary', minLength: 1, maxLength: 8 }).filter((text) => text.isWellFormed()),
        (id, delimiter) => {
          fc.pre(
            id.join(delimiter) !== delimiter &&
              id.join(delimiter).split(delimiter).length === Math.max(id.length, 1),
          )
          const segment = encodePathId(id, delimiter)
          expect(segment).not.toMatch(/[/?#]|^\.\.?$/)
          expect(decodePathId(segment, delimiter)).toStrictEqual(id)
        },
      ),
    )
  })

  it('take the delimiter for the root, encoded or not', () => {
    expect(encodePathId([])).toBe('%24')
    for (const segment of ['$', '%24']) expect(decodePathId(segment)).toStrictEqual([])
    expect(decodePathId('.', '.')).toStrictEqual([])
    expect(encodePathId([], '.')).toBe('%2E')
  })

  it('read a plus as a space only when told so', () => {
    expect(decodePathId('a+b%2Bc$d%20e', '$', true)).toStrictEqual(['a b+c', 'd e'])
    expect(decodePathId('a+b')).toStrictEqual(['a+b'])
  })

  it.each(['%', '%zz', 'a%2', '%ff', '%c3%28', '', 'a$$b', '$a', 'a$', '$$'])('refuse %j', (segment) => {
    expect(() => decodePathId(segment)).toThrow(CatalogError)
  })
})

describe('query parameters', () => {
  const kinds = { t: 'text', l: 'texts', n: 'integer', b: 'boolean', m: 'map' } as const
  const wellFormed = fc.string({ unit: 'binary' }).filter((text) => text.isWellFormed())

  it('come back as they were', () => {
    const fields = fc.record(
      {
        t: wellFormed,
        // A list of one text is written like the text alone.
        l: fc.oneof(wellFormed, fc.array(wellFormed, { minLength: 2, maxLength: 4 })),
        n: fc.maxSafeInteger(),
        b: fc.boolean(),
        m: fc.dictionary(fc.string(), fc.string()).map((map) => ({ ...map })),
      },
      { requiredKeys: [] },
    )
    fc.assert(
      fc.property(fields, (request) => {
        const query = new URLSearchParams(encodeQuery(kinds, { ...request, other: 1 }))
        expect(decodeQuery(kinds, new URLSearchParams(query.toString()))).toEqual({ ...request })
      }),
    )
  })

  it.each(['n=x', 'n=1.5', 'n=1e3', 'b=yes', 'm=[]', 'm={', 'm="x"', 'n=1&n=1', 't=a&t=b'])(
    'refuse %s',
    (query) => {
      expect(() => decodeQuery(kinds, new URLSearchParams(query))).toThrow(/query parameter [tnbm] /)
    },
  )

  it('pass over empty and unknown ones', () => {
    expect(decodeQuery(kinds, new URLSearchParams('n=&b=&m=&t=&x=1&m2=2&__proto__=1'))).toStrictEqual({
      t: '',
    })
  })

  it('are a list where a text may be repeated', () => {
    expect(decodeQuery(kinds, new URLSearchParams('l=a&l=b,c&l='))).toStrictEqual({ l: ['a', 'b,c', ''] })
    expect(encodeQuery(kinds, { l: ['a'] })).toStrictEqual([['l', 'a']])
  })
})

describe('context and headers', () => {
  it('map into each other through the prefix', () => {
    expect(
      headersOfContext({ 'header.X-Team': 'flights', team: 'x', 'header.Traceparent': '00-1' }),
    ).toStrictEqual({
      'x-team': 'flights',
      traceparent: '00-1',
    })
    expect(contextOfHeaders({ 'x-team': 'flights', 'x-many': ['a', 'b'], accept: '*/*' })).toStrictEqual({
      'header.x-team': 'flights',
      'header.x-many': 'a, b',
    })
    expect(contextOfHeaders({ host: 'x' })).toBeUndefined()
  })

  it('leave out credentials, what frames the message, and what is no header', () => {
    const context = {
      'header.Authorization': 'Bearer x',
      'header.x-api-key': 'x',
      'header.cookie': 'x',
      'header.content-length': '5',
      'header.transfer-encoding': 'chunked',
      'header.connection': 'close',
      'header.a b': 'x',
      'header.': 'x',
      'header.split': 'a\r\nset-cookie: b',
      'header.snow': '☃',
    }
    expect(headersOfContext(context)).toStrictEqual({})
    expect(
      contextOfHeaders({
        authorization: 'Bearer x',
        'x-api-key': 'x',
        cookie: 'x',
        'proxy-authorization': 'x',
      }),
    ).toBeUndefined()
  })
})
