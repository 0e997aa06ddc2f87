import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { importIceberg } from '../../../src/iceberg/index.ts'
import { openCatalog } from '../../../src/tabularium/index.ts'
import { closedAfterwards } from '../../support/catalogs.ts'
import { limitEach } from '../../support/time-limit.ts'

// One of the answers has no end.
limitEach(60)

type Answers = (
  path: string,
  query: URLSearchParams,
  response: ServerResponse,
  request: IncomingMessage,
) => unknown

/** A server that answers what a function says. What it does not answer is a 404. */
async function lying(answers: Answers): Promise<string> {
  const server = createServer((request, response) => {
    const url = new URL(request.url!, 'http://localhost')
    const answer = answers(url.pathname.replace(/^\/v1\//, ''), url.searchParams, response, request)
    if (response.headersSent) return
    const status = answer === undefined ? 404 : 200
    const body = answer ?? { error: { message: 'nothing there', type: 'NoSuchTableException', code: 404 } }
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(typeof body === 'string' ? body : JSON.stringify(body))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** A well-behaved catalog with the namespace `a`, besides what `more` answers. */
function besides(more: Answers): Answers {
  return (path, query, response, request) => {
    const answer = more(path, query, response, request)
    if (answer !== undefined || response.headersSent) return answer
    if (path === 'config') return { defaults: {}, overrides: {} }
    if (path === 'namespaces') return { namespaces: query.get('parent') ? [] : [['a']] }
    if (path === 'namespaces/a') return { namespace: ['a'], properties: {} }
    if (/^namespaces\/[^/]+\/(tables|views)$/.test(path)) return { identifiers: [] }
    return undefined
  }
}

/** Imports from a server into an empty catalog. Returns the report, and what failed. */
async function importFrom(answers: Answers) {
  const catalog = closedAfterwards(await openCatalog('memory:'))
  const failures: string[] = []
  const report = await importIceberg({ url: await lying(answers), token: 'secret' }, catalog, {
    onEntry: ({ error }) => error !== undefined && failures.push(String(error)),
    onNamespaceFailed: (_, error) => failures.push(String(error)),
  }).catch((error) => ({ error: String(error) }))
  return { report, failures, namespaces: (await catalog.listNamespaces({ id: [] })).namespaces }
}

test('a listing that comes back to a page it had, or goes on without names, ends', async () => {
  const cycle = await importFrom(
    besides((path, query) =>
      path === 'namespaces' && !query.get('parent')
        ? { namespaces: [['a']], 'next-page-token': 'again' }
        : undefined,
    ),
  )
  expect(cycle.report).toEqual({ error: expect.stringContaining('is a listing without an end') })
  let asked = 0
  const empty = await importFrom(
    besides((path) =>
      path.endsWith('/tables') ? { identifiers: [], 'next-page-token': `${asked++}` } : undefined,
    ),
  )
  expect(empty.failures).toEqual([expect.stringContaining('is a listing without an end')])
  expect(asked).toBeLessThan(2_000)
})

test('a namespace that is its own child, or lies without an end, is left out', async () => {
  const own = await importFrom(
    besides((path, query) =>
      path === 'namespaces' && query.get('parent') ? { namespaces: [['a']] } : undefined,
    ),
  )
  expect(own).toMatchObject({
    report: { namespaces: 1, failed: 1 },
    failures: [expect.stringContaining('The server lists the namespace a as one that lies directly in a')],
  })
  const deeper = await importFrom(
    besides((path, query) => {
      const parent = query.get('parent')
      if (path === 'namespaces' && parent) return { namespaces: [[...parent.split('\u001f'), 'a']] }
      return /^namespaces\/a(%1Fa)+$/.test(path) ? { namespace: [], properties: {} } : undefined
    }),
  )
  expect(deeper.report).toMatchObject({ failed: 1 })
  expect((deeper.report as { namespaces: number }).namespaces).toBeLessThan(100)
})

const wrong: Readonly<Record<string, [Answers, RegExp]>> = {
  'a table of another namespace': [
    (path) =>
      path === 'namespaces/a/tables' ? { identifiers: [{ namespace: ['b'], name: 't' }] } : undefined,
    /The server lists the table b\$t as one that lies directly in a/,
  ],
  'a name that leads elsewhere': [
    (path) =>
      path === 'namespaces/a/tables' ? { identifiers: [{ namespace: ['a'], name: '..' }] } : undefined,
    /The name "\.\." cannot be asked for over HTTP/,
  ],
  'names that are numbers': [
    (path) => (path === 'namespaces/a/tables' ? { identifiers: [{ namespace: ['a'], name: 7 }] } : undefined),
    /has in identifiers\.0\.name an unexpected value/,
  ],
  'a page of HTML': [(path) => (path === 'namespaces/a/tables' ? '<html>' : undefined), /is no JSON/],
  'a table without a metadata file': [
    (path) => {
      if (path === 'namespaces/a/tables') return { identifiers: [{ namespace: ['a'], name: 't' }] }
      return path === 'namespaces/a/tables/t' ? { metadata: {} } : undefined
    },
    /has in metadata-location an unexpected value/,
  ],
  'a metadata file out of reach': [
    (path) => {
      if (path === 'namespaces/a/tables') return { identifiers: [{ namespace: ['a'], name: 't' }] }
      return path === 'namespaces/a/tables/t'
        ? { 'metadata-location': 'file:///etc/passwd', metadata: {} }
        : undefined
    },
    /is out of reach of this catalog/,
  ],
}

test.each(Object.keys(wrong))('%s fails by itself', async (name) => {
  const [answers, message] = wrong[name]!
  const { report, failures, namespaces } = await importFrom(besides(answers))
  expect(failures).toEqual([expect.stringMatching(message)])
  expect({ report, namespaces }).toMatchObject({ report: { failed: 1, registered: 0 }, namespaces: ['a'] })
})

test('an answer without an end is not read to its end', async () => {
  const piece = Buffer.alloc(8 << 20, ' ')
  let sent = 0
  const { report } = await importFrom(
    besides((path, _, response) => {
      if (path !== 'config') return undefined
      response.writeHead(200)
      const more = () => {
        while (!response.destroyed && response.write(piece)) sent += piece.length
        sent += piece.length
      }
      response.on('drain', more)
      more()
      return undefined
    }),
  )
  expect(report).toEqual({ error: expect.stringContaining('has more than 256 MiB') })
  expect(sent).toBeLessThan(1 << 30)
})

test('a token goes to the server that was named, whatever its configuration says', async () => {
  const others: (string | undefined)[] = []
  const other = await lying((_, __, ___, request) => {
    others.push(request.headers.authorization)
    return {}
  })
  const asked: (string | undefined)[] = []
  const { report } = await importFrom(
    besides((path, _, __, request) => {
      asked.push(request.headers.authorization)
      return path === 'config' ? { defaults: {}, overrides: { uri: other, token: 'theirs' } } : undefined
    }),
  )
  expect(report).toMatchObject({ namespaces: 1, failed: 0 })
  expect(new Set(asked)).toEqual(new Set(['Bearer secret']))
  expect(others).toEqual([])
})

test('a server that is busy is asked again, and one that refuses is not', async () => {
  let busy = 2
  let refusals = 0
  const { report } = await importFrom(
    besides((path, _, response) => {
      if (path === 'config' && busy-- > 0) response.writeHead(503, { 'retry-after': '0' }).end()
      return undefined
    }),
  )
  expect(report).toMatchObject({ namespaces: 1, failed: 0 })
  const refused = await importFrom(
    besides((path, _, response) => {
      if (path !== 'config') return undefined
      refusals++
      response
        .writeHead(401)
        .end(JSON.stringify({ error: { message: 'who?', type: 'NotAuthorizedException' } }))
      return undefined
    }),
  )
  expect(refused.report).toEqual({ error: expect.stringContaining('who?') })
  expect(refusals).toBe(1)
})

test('a credential is exchanged for a token', async () => {
  const forms: string[] = []
  const tokens: (string | undefined)[] = []
  const url = await lying((path, query, response, request) => {
    if (path === 'oauth/tokens') {
      request.on('data', (data) => forms.push(String(data)))
      request.on('end', () => response.end(JSON.stringify({ access_token: 'fresh', token_type: 'bearer' })))
      response.writeHead(200)
      return undefined
    }
    tokens.push(request.headers.authorization)
    return besides(() => undefined)(path, query, response, request)
  })
  const catalog = closedAfterwards(await openCatalog('memory:'))
  await importIceberg({ url: `${url}/v1/`, credential: 'me:pass:word', scope: 'all' }, catalog)
  expect(forms).toEqual(['grant_type=client_credentials&scope=all&client_id=me&client_secret=pass%3Aword'])
  expect(new Set(tokens)).toEqual(new Set(['Bearer fresh']))
})
