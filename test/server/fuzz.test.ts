import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { wire } from '../../src/protocol/wire.ts'
import { arrowRows, documented, type Reply, serveInMemory } from './support/ask.ts'

/** The document's statuses, and that of a wrong method, whose error is the document's for what is not supported. */
const statuses: typeof documented = { ...documented, 405: documented[406]! }

/** What a fuzzed answer may be: a success, or an error body whose status is not 500. */
function expectSane(reply: Reply, what: string): void {
  if (reply.status === 200) return
  expect(statuses, what).toHaveProperty(String(reply.status))
  expect(reply.status, `${what}: ${reply.text}`).not.toBe(500)
  expect(reply.headers.get('content-type'), what).toBe('application/json; charset=utf-8')
  const [type, title] = statuses[reply.status]!
  expect(reply.json, what).toMatchObject({
    type,
    title,
    status: reply.status,
    code: expect.any(Number),
    detail: expect.stringMatching(/./),
  })
}

const names = fc.constantFrom('a', 'b', 'n', 't', 'main', 'x')
const value = fc.oneof(
  { weight: 4, arbitrary: names },
  { weight: 3, arbitrary: fc.array(names, { maxLength: 3 }) },
  { weight: 2, arbitrary: fc.integer({ min: -2, max: 5 }) },
  { weight: 1, arbitrary: fc.jsonValue() },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      null,
      true,
      '',
      'a > 1',
      'a >',
      2 ** 63,
      Number.MAX_VALUE,
      '__proto__',
      '\ud800',
    ),
  },
)

const fields = [
  'id',
  'identity',
  'context',
  'predicate',
  'filter',
  'columns',
  'version',
  'branch',
  'tag',
  'name',
  'mode',
  'behavior',
  'new_table_name',
  'new_namespace_id',
  'location',
  'properties',
  'operations',
  'entries',
  'ranges',
  'actions',
  'limit',
  'offset',
  'k',
  'vector',
  'manifest_path',
  'from_version',
  'page_token',
  'include_declared',
  'delimiter',
  'metadata',
  '__proto__',
  'constructor',
]
const step = fc.dictionary(
  fc.constantFrom(
    'declare_table',
    'create_table_version',
    'delete_table_versions',
    'deregister_table',
    'setStatusAction',
  ),
  fc.oneof(fc.dictionary(fc.constantFrom(...fields), value, { maxKeys: 4 }), value),
  { maxKeys: 2 },
)
const object = fc.dictionary(fc.constantFrom(...fields), fc.oneof(value, fc.array(step, { maxLength: 3 })), {
  maxKeys: 6,
})

const body = fc.oneof(
  { weight: 6, arbitrary: object.map((given) => JSON.stringify(given)) },
  { weight: 1, arbitrary: fc.json() },
  { weight: 1, arbitrary: fc.string({ unit: 'binary' }) },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 200 }) },
  { weight: 1, arbitrary: fc.constant(undefined) },
)

const segment = fc.oneof(
  { weight: 6, arbitrary: fc.array(names, { minLength: 1, maxLength: 3 }).map((id) => id.join('$')) },
  {
    weight: 1,
    arbitrary: fc
      .string({ unit: 'binary' })
      .filter((text) => text.isWellFormed())
      .map(encodeURIComponent),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      '$',
      '%24',
      '%',
      '%zz',
      '$$',
      'a$',
      '+',
      '%00',
      '%2F',
      '..%2F..',
      'x'.repeat(3_000),
    ),
  },
)

const query = fc
  .array(
    fc.tuple(
      fc.constantFrom(
        'delimiter',
        'limit',
        'page_token',
        'mode',
        'properties',
        'version',
        'branch',
        'descending',
        'on',
        'include_declared',
      ),
      fc.oneof(
        names,
        fc.constantFrom('0', '1', '-1', 'true', '{}', '{"a":"b"}', '.', '', '99999999999999999999'),
        fc.string(),
      ),
    ),
    { maxLength: 3 },
  )
  .map((pairs) => (pairs.length === 0 ? '' : `?${new URLSearchParams(pairs)}`))

const type = fc.oneof(
  { weight: 6, arbitrary: fc.constant('application/json') },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      'application/vnd.apache.arrow.stream',
      'application/octet-stream',
      'text/plain',
      ';',
      'a/b; c=d',
      'x',
    ),
  },
)

const request = fc.record({
  route: fc.constantFrom(...Object.values(wire)),
  method: fc.option(fc.constantFrom('GET', 'POST', 'PUT', 'DELETE', 'HEAD', 'OPTIONS'), {
    freq: 8,
    nil: undefined,
  }),
  segment,
  query,
  body,
  type,
  dialect: fc.boolean(),
})

describe('whatever is sent', () => {
  it('is answered with a success or an error body, and never with a 500', async () => {
    const { catalog, ask } = await serveInMemory({ limits: { jsonBytes: 100_000, arrowBytes: 100_000 } })
    await catalog.createNamespace({ id: ['n'] })
    let round = 0
    await fc.assert(
      fc.asyncProperty(request, async ({ route, method, segment, query, body, type, dialect }) => {
        // What went before may have dropped it all.
        if (round++ % 20 === 0) {
          await catalog.createNamespace({ id: ['n'], mode: 'ExistOk' }).catch(() => {})
          for (const id of [['t'], ['n', 't']])
            await catalog.createTable({ id, data: [{ a: 1 }], mode: 'ExistOk' }).catch(() => {})
        }
        const path = route.path.replace('{id}', () => segment).replace('{index_name}', 'i') + query
        const chosen = method ?? route.methods[0]
        const sent = chosen === 'GET' || chosen === 'HEAD' ? undefined : body
        const reply = await ask(chosen, path, sent, {
          'content-type':
            route.body === 'arrow' && type === 'application/json' ? 'application/octet-stream' : type,
          ...(dialect ? { 'x-lancedb-database': 'x' } : {}),
        })
        if (chosen !== 'HEAD') expectSane(reply, `${chosen} ${path}`)
      }),
      { numRuns: 1_200 },
    )
    expect((await ask('GET', '/readyz')).status).toBe(200)
  })

  it('rows that were damaged anywhere are refused or read', async () => {
    const { ask } = await serveInMemory()
    const whole = arrowRows({ a: [1, 2, 3], s: ['x', null, 'yz'] })
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.nat(whole.length - 1), fc.nat(255)), { minLength: 1, maxLength: 4 }),
        fc.nat(whole.length),
        async (damage, cut) => {
          const bytes = whole.slice(0, cut % 3 === 0 ? cut : undefined)
          for (const [at, byte] of damage) if (at < bytes.length) bytes[at] = byte
          const reply = await ask('POST', '/v1/table/t/create?mode=overwrite', bytes, {
            'content-type': 'application/vnd.apache.arrow.stream',
          })
          expectSane(reply, `damage ${JSON.stringify(damage)}, cut ${cut}`)
        },
      ),
      { numRuns: 400 },
    )
  })

  it('paths of any shape', async () => {
    const { ask } = await serveInMemory()
    const path = fc.oneof(
      fc
        .array(
          fc.oneof(
            fc.constantFrom('v1', 'table', 'namespace', 'list', '', 'x', '%', '$', 'index'),
            fc
              .string({ unit: 'binary' })
              .filter((text) => text.isWellFormed())
              .map(encodeURIComponent),
          ),
          { maxLength: 7 },
        )
        .map((parts) => `/${parts.join('/')}`),
      fc.webPath(),
    )
    await fc.assert(
      fc.asyncProperty(path, fc.constantFrom('GET', 'POST', 'DELETE'), async (asked, method) => {
        expectSane(await ask(method, asked), `${method} ${asked}`)
      }),
      { numRuns: 500 },
    )
  })
})
