import { setTimeout as sleep } from 'node:timers/promises'
import { tableFromArrays, tableToIPC } from 'apache-arrow'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type OperationName, operations } from '../../src/catalog/operations/index.ts'
import { connect } from '../../src/client/index.ts'
import { arrowStreamType } from '../../src/protocol/wire.ts'
import { type ServeOptions, serve } from '../../src/server/index.ts'
import { type Catalog, CatalogError, openCatalog } from '../../src/tabularium/index.ts'
import { fakeCatalog } from '../../src/testing/index.ts'
import { freshFolder } from '../support/catalogs.ts'
import { Draw } from '../support/draw.ts'
import { certificate, missingProxies, proxyNames, RunningProxy, withAllReplaced } from '../support/proxies.ts'
import { numbered } from '../support/rows.ts'
import { limitEach } from '../support/time-limit.ts'
import { tlsFetch } from '../support/tls-fetch.ts'
import { validRequest, type World } from '../support/valid-requests.ts'

// Some hundred megabytes pass each proxy, encrypted.
limitEach(120)

/*
 * Two servers over one catalog, behind each proxy with its file of examples/deploy. Only ports, paths and certificates are
 * others, and times where a test says so.
 */

const token = 'a-token-of-the-team'
const mebibyte = 2 ** 20
const ca = missingProxies === undefined ? (await certificate()).text : ''

test('a port that holds a text to replace stays as it is', () => {
  const replaced = { '10.0.0.1:2333': '127.0.0.1:44301', ':443': '127.0.0.1:2981' }
  expect(withAllReplaced('bind :443, server 10.0.0.1:2333', replaced)).toBe(
    'bind 127.0.0.1:2981, server 127.0.0.1:44301',
  )
})

interface Behind {
  readonly options?: Partial<ServeOptions>
  readonly catalog?: Catalog
  readonly replaced?: Readonly<Record<string, string>>
}

describe.skipIf(missingProxies).each(proxyNames)('%s', (name) => {
  /** Two servers behind the proxy, and how to ask them: through it, and one of them directly. */
  async function behind({ options = {}, catalog, replaced }: Behind = {}) {
    const shared = catalog ?? (await openCatalog(await freshFolder()))
    const start = () =>
      serve(shared, {
        auth: { tokens: [token] },
        port: 0,
        log: false,
        ...options,
        limits: { eventLoopDelay: 0, ...options.limits },
      })
    const servers = [await start(), await start()] as const
    const [one, two] = servers.map(({ url }) => new URL(url).host) as [string, string]
    const proxy = await RunningProxy.start(name, { servers: [one, two], replaced: replaced ?? {} })
    onTestFinished(async () => {
      await proxy[Symbol.asyncDispose]()
      for (const server of servers) await server.close()
      await shared.close()
    })
    return { url: proxy.url, servers, direct: servers[0].url, catalog: shared }
  }

  const authorization = `Bearer ${token}`

  test('ends TLS, and passes the page on as it is', async () => {
    const { url, direct } = await behind()
    await expect(fetch(url)).rejects.toThrow()
    const secure = tlsFetch({ ca })
    const of = async (
      ask: (url: string, init: RequestInit) => Promise<Response>,
      base: string,
      path: string,
    ) => {
      const answer = await ask(base + path, { headers: { 'accept-encoding': 'identity' } })
      const names = /^(content-(type|security)|x-(frame|content)|etag)/
      const headers = Object.fromEntries([...answer.headers].filter(([name]) => names.test(name)))
      return { status: answer.status, headers, text: await answer.text() }
    }
    const page = await of(fetch, direct, '/')
    const files = [...page.text.matchAll(/(?:src|href)="([^":]+)"/g)].map(
      ([, path]) => `/${path!.replace(/^\.?\//, '')}`,
    )
    expect(files.length).toBeGreaterThan(1)
    for (const path of ['/', '/docs', '/openapi.json', '/healthz', '/nowhere', ...files])
      expect(await of(secure, url, path), path).toEqual(await of(fetch, direct, path))
  })

  test('passes each change on at once, for longer than it lets a connection be silent', async () => {
    // The feed says something each third of `download`: here each second. The times of the files are longer.
    const replaced: Behind['replaced'] = name === 'caddy' ? {} : { '10m': '3s' }
    const { url, catalog } = await behind({ options: { timeouts: { download: 3_000 } }, replaced })
    const client = connect(url, { token, retries: 0, fetch: tlsFetch({ ca }) })
    const ended = new AbortController()
    onTestFinished(() => ended.abort())
    const changes = client.watch({ signal: ended.signal })[Symbol.asyncIterator]()
    for (const [at, silence] of [0, 5_000].entries()) {
      const next = changes.next()
      // The feed begins with its request.
      if (at === 0) await sleep(1_000)
      await sleep(silence)
      const before = performance.now()
      await catalog.createTable({ id: [`t${at}`], data: numbered(1) })
      expect((await next).value).toMatchObject({ changes: [{ id: [`t${at}`] }] })
      expect(performance.now() - before).toBeLessThan(5_000)
    }
  })

  test('passes rows on while they arrive, however many', async () => {
    let hasReached = () => {}
    const reached = new Promise<void>((resolve) => {
      hasReached = resolve
    })
    const { url, catalog } = await behind({
      options: {
        authorize: (_principal, operation) => {
          if (operation === 'insertIntoTable') hasReached()
          return true
        },
      },
    })
    const rows = mebibyte / 8
    const batch = { n: new Float64Array(rows), m: new Float64Array(rows) }
    const data = tableFromArrays(batch)
    await catalog.createTable({ id: ['t'], data: tableToIPC(tableFromArrays({ n: [0], m: [0] }), 'stream') })
    const client = connect(url, { token, retries: 0, fetch: tlsFetch({ ca, chunked: true }) })
    // nginx counts bytes. These are more than the 256 MiB that a body of known length may have.
    const batches = name === 'nginx' ? 130 : 10
    async function* source() {
      yield data
      // A proxy that keeps the body until its end would wait for ever.
      await reached
      for (let i = 1; i < batches; i++) yield data
    }
    await client.insertIntoTable({ id: ['t'], data: source() as never })
    expect((await catalog.countTableRows({ id: ['t'] })).count).toBe(1 + batches * rows)
  })

  test('passes on the answer to a body that is refused while it is sent', async () => {
    const { url } = await behind()
    const chunks = Array.from({ length: 20 }, () => new Uint8Array(mebibyte))
    for (let n = 0; n < 10; n++) {
      const upload = await tlsFetch({ ca, chunked: true })(`${url}/v1/table/t/insert`, {
        method: 'POST',
        headers: { authorization: 'Bearer a-token-that-is-wrong', 'content-type': arrowStreamType },
        body: ReadableStream.from(chunks),
        duplex: 'half',
      } as RequestInit)
      expect(upload.status).toBe(401)
      expect(await upload.json()).toMatchObject({ code: 16 })
      const next = await tlsFetch({ ca })(`${url}/v1/table`, { headers: { authorization } })
      expect(next.status).toBe(200)
    }
  })

  test('passes an answer on only as fast as its client reads', async () => {
    const own = await openCatalog(await freshFolder())
    const n = Float64Array.from({ length: 6 * mebibyte }, (_, at) => at)
    await own.createTable({ id: ['t'], data: tableToIPC(tableFromArrays({ n }), 'stream') })
    const { url, servers, direct } = await behind({ catalog: own })
    const request = {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json' },
      body: '{}',
    }
    const path = '/v1/table/t/query'
    const answer = await tlsFetch({ ca })(url + path, request)
    expect(answer.status).toBe(200)
    const held = async () => {
      const texts = servers.map(async ({ url }) =>
        (await fetch(`${url}/metrics`, { headers: { authorization } })).text(),
      )
      return (await Promise.all(texts)).map((text) => Number(/^tabularium_body_bytes (\d+)/m.exec(text)![1]))
    }
    // A proxy that takes all of the answer for itself would have it by now.
    await sleep(2_000)
    expect(Math.max(...(await held()))).toBeGreaterThan(0)
    const bytes = new Uint8Array(await answer.arrayBuffer())
    const plain = new Uint8Array(await (await fetch(direct + path, request)).arrayBuffer())
    expect(bytes.length).toBeGreaterThan(n.byteLength)
    expect(Buffer.compare(bytes, plain)).toBe(0)
  })

  test('passes the address of its client on, and not what the client says of itself', async () => {
    const seen: unknown[] = []
    const auth = {
      verify: (
        given: string | undefined,
        { remoteAddress }: { readonly remoteAddress?: string | undefined },
      ) => {
        seen.push(remoteAddress)
        return given === token ? { name: 'team' } : undefined
      },
    }
    const rateLimit = { requests: 8, perMillis: 60_000 }
    const { url } = await behind({ options: { auth, rateLimit, trustProxy: '127.0.0.1' } })
    const guess = async (from: string, forged: string) => {
      const headers = { authorization: 'Bearer a-token-that-is-wrong', 'x-forwarded-for': forged }
      const answer = await tlsFetch({ ca, from })(`${url}/v1/table`, { headers })
      return [answer.status, Number(answer.headers.get('retry-after'))] as const
    }
    // Each of the two servers counts by itself.
    const answers: (readonly [number, number])[] = []
    for (let n = 0; n < 40; n++) answers.push(await guess('127.0.0.2', `203.0.113.${n}, 198.51.100.1`))
    expect(new Set(seen)).toEqual(new Set(['127.0.0.2']))
    const refused = answers.filter(([status]) => status === 401).length
    expect(refused).toBeGreaterThanOrEqual(rateLimit.requests)
    expect(refused).toBeLessThanOrEqual(2 * rateLimit.requests)
    const [status, seconds] = answers.at(-1)!
    expect(status).toBe(503)
    expect(seconds).toBeGreaterThan(0)
    // Another client is not the one that guesses.
    expect(await guess('127.0.0.3', '127.0.0.2')).toEqual([401, 0])
  })

  test('answers random requests as a server itself does', async () => {
    const draw = new Draw(Number(process.env.FC_SEED ?? 20_261_120))
    const x = Float64Array.from({ length: 50 }, (_, at) => at)
    const s = Array.from({ length: 50 }, (_, at) => `value-${at}`)
    const data = tableToIPC(tableFromArrays({ x, y: x.map((n) => n / 7), s, t: s }), 'stream')
    // Names that a proxy might take for something of its own.
    const names = ['..', '.', 'a/b', 'a b', '%2e%2e', 'x;y?z#w', 'ü', '\\', '//', '\'"<&', '+']
    const namespaces = [['other'], [], ...names.map((name) => [name])]
    const tables = [['plain'], ...names.map((name) => ['other', name])]
    const world: World = { tables, namespaces, columns: { numbers: ['x', 'y'], texts: ['s', 't'] }, data }
    // Two fakes give the same answers to the same requests: their clocks and ids repeat.
    const twins = [await fakeCatalog(), await fakeCatalog()] as const
    onTestFinished(() => twins[0].close())
    for (const twin of twins) {
      for (const id of namespaces) if (id.length > 0) await twin.createNamespace({ id })
      for (const id of tables) await twin.createTable({ id, data })
    }
    const { url } = await behind({ catalog: twins[1] })
    const limits = { eventLoopDelay: 0 }
    const server = await serve(twins[0], { auth: { tokens: [token] }, port: 0, log: false, limits })
    onTestFinished(() => server.close())
    const direct = connect(server.url, { token, retries: 0 })
    const through = connect(url, { token, retries: 0, fetch: tlsFetch({ ca }) })
    const counts = { answered: 0, refused: 0 }
    for (let n = 0; n < 150 * Number(process.env.HISTORY_RUNS ?? 1); n++) {
      const operation = draw.oneOf(asked)
      // Headers of proxies are part of the context.
      const { context: _, ...request } = validRequest(operation, world, draw)
      const answerOf = async (client: Catalog) => {
        try {
          const call = client[operation] as (request: unknown) => Promise<object>
          const { context: _, ...answer } = (await call(request)) as Record<string, unknown>
          return answer
        } catch (error) {
          if (!(error instanceof CatalogError)) throw error
          return { code: error.code, message: error.message }
        }
      }
      const expected = await answerOf(direct)
      if (/headers are larger/.test(String('message' in expected && expected.message))) {
        // The text of a proxy that refuses a long URL is its own.
        expect(await answerOf(through)).toHaveProperty('code')
        continue
      }
      expect(await answerOf(through), JSON.stringify([operation, request]).slice(0, 2_000)).toEqual(expected)
      counts['code' in expected ? 'refused' : 'answered']++
    }
    expect(counts.answered).toBeGreaterThan(30)
    expect(counts.refused).toBeGreaterThan(30)
  })
})

/** Transactions belong to one server, and the times of a plan to one run. */
const asked = (Object.keys(operations) as OperationName[]).filter(
  (name) => !/transaction|^analyze/i.test(name),
)
