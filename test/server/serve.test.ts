import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { describe, expect, it, onTestFinished, test } from 'vitest'
import { fetchHandler, type ServeOptions, serve } from '../../src/server/index.ts'
import { type MemoryCatalog, openCatalog } from '../../src/tabularium/index.ts'
import { arrowRows, arrowStream, asking, expectProblem, type Reply } from './support/ask.ts'
import { holdTimers } from './support/hold-timers.ts'

const token = 'correct-horse-battery'
const path = '/v1/namespace/$/describe'

async function running({ limits, ...options }: Partial<ServeOptions> = {}) {
  const catalog = await openCatalog('memory:')
  const server = await serve(catalog, {
    auth: { tokens: [token] },
    port: 0,
    log: false,
    // A busy machine makes the event loop late, which is another limit.
    limits: { eventLoopDelay: 0, ...limits },
    ...options,
  })
  onTestFinished(async () => {
    await server.close()
    await catalog.close()
  })
  const plain = asking(fetch, server.url)
  return {
    catalog,
    server,
    plain,
    ask: (method: string, asked: string, body?: unknown, headers = {}) =>
      plain(method, asked, body, { authorization: `Bearer ${token}`, ...headers }),
    port: Number(new URL(server.url).port),
  }
}

test('what is no catalog, and options that are missing, are refused by name', async () => {
  const catalog = await openCatalog('memory:')
  onTestFinished(() => catalog.close())
  const calls: readonly ((...given: never[]) => Promise<unknown>)[] = [serve, fetchHandler]
  for (const call of calls) {
    const refusal = (...given: unknown[]) => call(...(given as never[])).catch((error: unknown) => error)
    for (const given of [undefined, null, {}, { catalog, auth: false }, 'memory:']) {
      expect(await refusal(given)).toMatchObject({
        code: 'InvalidInput',
        message: expect.stringContaining('catalog to serve is missing'),
      })
    }
    expect(await refusal(openCatalog('memory:'), { auth: false })).toMatchObject({
      code: 'InvalidInput',
      message: expect.stringContaining('is a promise. Await it'),
    })
    expect(await refusal(catalog)).toMatchObject({
      code: 'InvalidInput',
      message: expect.stringContaining('auth is missing'),
    })
    expect(await refusal(catalog, null)).toMatchObject({
      code: 'InvalidInput',
      message: expect.stringContaining('needs its options'),
    })
  }
})

/** A connection to write to by hand; what comes back is gathered in `text`. */
async function dial(port: number): Promise<{ socket: Socket; text: () => string; closed: Promise<unknown> }> {
  const socket = connect({ port, host: '127.0.0.1' })
  let text = ''
  socket.on('data', (chunk) => {
    text += chunk
  })
  socket.on('error', () => {})
  const closed = once(socket, 'close')
  onTestFinished(() => {
    socket.destroy()
  })
  await once(socket, 'connect')
  return { socket, text: () => text, closed }
}

/** Makes describing a namespace wait until it is let go. */
function holding(catalog: MemoryCatalog) {
  const held: (() => void)[] = []
  const describe = catalog.describeNamespace
  Object.assign(catalog, {
    describeNamespace: async (request: never) => {
      await new Promise<void>((resolve) => held.push(resolve))
      return describe(request)
    },
  })
  return held
}

describe('a server on a port', () => {
  it('answers operations, pages and errors', async () => {
    const { ask, plain } = await running()
    expect((await ask('POST', '/v1/namespace/n/create', {})).status).toBe(200)
    expect((await ask('POST', '//v1/table/n$t/create/', arrowRows(), arrowStream)).status).toBe(200)
    expect((await ask('POST', '/v1/table/n$t/count_rows', {})).text).toBe('3')
    expect((await ask('POST', '/v1/table/n$t/query', {})).bytes.subarray(0, 6)).toEqual(
      new TextEncoder().encode('ARROW1'),
    )
    expect((await plain('GET', '/healthz')).json).toStrictEqual({ status: 'ok' })
    expect((await plain('GET', '/readyz/')).json).toStrictEqual({ status: 'ready' })
    expectProblem(await plain('GET', '/nothing'), 404, 0, '/nothing')
    expectProblem(await plain('GET', '/v1/nothing'), 404, 0, '/v1/nothing')
    expectProblem(await plain('POST', '/v1/table/%zz/describe'), 401, 16, '/v1/table/%zz/describe')
    expectProblem(await ask('POST', '/v1/table/%zz/describe', {}), 400, 13, '/v1/table/%zz/describe')
    expectProblem(await plain('GET', '/%zz'), 400, 13, '/%zz')
    expectProblem(await ask('PUT', '/v1/table', {}), 405, 13, '/v1/table')
  })

  it('lets a client that still sends a refused body read the answer', async () => {
    const { plain, ask } = await running({ limits: { jsonBytes: 1_000 } })
    const large = new Uint8Array(8_000_000)
    expectProblem(
      await plain('POST', '/v1/table/t/create', large, arrowStream),
      401,
      16,
      '/v1/table/t/create',
    )
    expectProblem(await ask('POST', path, large, { 'content-type': 'application/json' }), 400, 13, path)
    expect((await ask('POST', path, {})).status).toBe(200)
  })

  it('tells what cannot be read as HTTP so, and ends the connection', async () => {
    const { port } = await running({ headerBytes: 2_000 })
    for (const bytes of [
      'GET\r\n\r\n',
      'hello\r\n\r\n',
      `GET / HTTP/1.1\r\nhost: x\r\nx: ${'y'.repeat(5_000)}\r\n\r\n`,
    ]) {
      const { socket, text, closed } = await dial(port)
      socket.write(bytes)
      await closed
      expect(text()).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/)
      expect(JSON.parse(text().split('\r\n\r\n')[1]!)).toMatchObject({
        type: '/errors/bad-request',
        status: 400,
        code: 13,
      })
    }
  })

  it('takes a whole URL in place of a path', async () => {
    const { port } = await running()
    for (const [asked, answer] of [
      ['http://localhost/healthz', /200 OK[\s\S]*"ok"/],
      ['http://localhost/v1/table?limit=1', /200 OK[\s\S]*"tables"/],
      ['http://localhost', /200 OK[\s\S]*<div id="app">/],
      ['http://localhost/no', /404 Not Found[\s\S]*"instance":"\/no"/],
    ] as const) {
      const { socket, text, closed } = await dial(port)
      socket.write(
        `GET ${asked} HTTP/1.1\r\nhost: localhost\r\nx-api-key: ${token}\r\nconnection: close\r\n\r\n`,
      )
      await closed
      expect(text()).toMatch(answer)
    }
  })

  it('lets go of connections that are slow or say nothing', async () => {
    const { port, ask } = await running({ timeouts: { headers: 800, request: 1_600 } })
    const silent = await dial(port)
    const slowHead = await dial(port)
    slowHead.socket.write('POST /v1/table HTTP/1.1\r\nhost: localhost\r\n')
    const slowBody = await dial(port)
    slowBody.socket.write(
      `POST ${path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${token}\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{`,
    )
    await Promise.all([silent.closed, slowHead.closed, slowBody.closed])
    for (const { text } of [slowHead, slowBody]) expect(text()).toMatch(/too long to arrive/)
    expect((await ask('POST', path, {})).status).toBe(200)
  })

  it('takes no more connections than it may', async () => {
    const { port } = await running({ connections: 2 })
    const first = await dial(port)
    await dial(port)
    const third = await dial(port)
    await third.closed
    first.socket.write('GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n')
    await expect.poll(first.text).toMatch(/200 OK/)
  })

  it('gives back room that clients who went away had taken', async () => {
    const { catalog, port, ask } = await running({ limits: { inFlight: 2 } })
    const held = holding(catalog)
    const head = `POST ${path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${token}\r\ncontent-type: application/json\r\n`
    for (let i = 0; i < 2; i++) {
      const { socket } = await dial(port)
      socket.write(`${head}content-length: 2\r\n\r\n{}`)
      await expect.poll(() => held.length).toBe(i + 1)
      socket.destroy()
    }
    expect((await ask('POST', '/v1/table/x/describe', {})).status).toBe(503)
    for (const release of held.splice(0)) release()
    await expect.poll(async () => (await ask('POST', '/v1/table/x/describe', {})).status).toBe(404)
    for (let i = 0; i < 4; i++) {
      const { socket, closed } = await dial(port)
      socket.end(`${head}content-length: 50\r\n\r\n{`)
      await closed
    }
    await expect.poll(async () => (await ask('POST', '/v1/table/x/describe', {})).status).toBe(404)
  })

  it('stops work on rows that nobody waits for any more', async () => {
    const { catalog, server } = await running()
    let signal: AbortSignal | undefined
    Object.assign(catalog, {
      countTableRows: (_request: unknown, options: { signal: AbortSignal }) => {
        signal = options.signal
        return new Promise((_resolve, reject) =>
          signal!.addEventListener('abort', () => reject(signal!.reason)),
        )
      },
    })
    const controller = new AbortController()
    const asked = fetch(`${server.url}/v1/table/t/count_rows`, {
      headers: { 'x-api-key': token },
      signal: controller.signal,
    })
    await expect.poll(() => signal).toBeDefined()
    controller.abort()
    await expect(asked).rejects.toThrow()
    await expect.poll(() => signal!.aborted).toBe(true)
  })
})

describe('closing', () => {
  it('finishes what runs, refuses what is new, and lets go of the port', async () => {
    const { catalog, server, ask, port } = await running()
    const held = holding(catalog)
    const kept = await dial(port)
    kept.socket.write(`GET /v1/table HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${token}\r\n\r\n`)
    await expect.poll(kept.text).toMatch(/200 OK/)
    const slow = ask('POST', path, {})
    await expect.poll(() => held.length).toBe(1)
    let closed = false
    const closing = server.close().then(() => {
      closed = true
    })
    await kept.closed
    await expect(ask('POST', path, {})).rejects.toThrow()
    expect(closed).toBe(false)
    held[0]!()
    const reply = await slow
    expect([reply.status, reply.headers.get('connection')]).toStrictEqual([200, 'close'])
    await closing
    await server.close()
  })

  it('goes on serving while it drains, and tells load balancers so', async () => {
    const drain = 3_599_999
    const isOver = holdTimers(drain)
    const { server, ask, plain } = await running({ timeouts: { drain } })
    expect((await plain('GET', '/readyz')).status).toBe(200)
    let closed = false
    const closing = server.close().then(() => {
      closed = true
    })
    const unready = await plain('GET', '/readyz')
    expectProblem(unready, 503, 17, '/readyz')
    expect(unready.json).toMatchObject({ detail: expect.stringContaining('shutting down') })
    expect((await plain('GET', '/healthz')).status).toBe(200)
    for (let n = 0; n < 3; n++) {
      const { status, headers } = await ask('POST', '/v1/namespace/n/create', { mode: 'ExistOk' })
      expect([status, headers.get('connection')]).toEqual([200, 'keep-alive'])
    }
    expect(closed).toBe(false)
    isOver()
    await closing
    await expect(plain('GET', '/healthz')).rejects.toThrow()
  })

  it.each([-1, Number.NaN, 3_600_001])('refuses to drain for %s ms', async (drain) => {
    await expect(running({ timeouts: { drain } })).rejects.toMatchObject({
      code: 'InvalidInput',
      message: expect.stringContaining('timeouts.drain'),
    })
  })

  it('is not ready from the moment at which it begins to end', async () => {
    const { server, port } = await running({ timeouts: { linger: 3_600_000 } })
    const request = (path: string) => `GET ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`
    const kept = await dial(port)
    kept.socket.write(request('/readyz'))
    await expect.poll(kept.text).toMatch(/200 OK/)
    const closing = server.close()
    kept.socket.write(request('/readyz'))
    await kept.closed
    expect(kept.text()).toMatch(/503 Service Unavailable/)
    await closing
  })

  it('answers what is on its way to idle connections, and ends these then', async () => {
    const { server, ask, port } = await running({ timeouts: { linger: 3_600_000 } })
    const request = `GET /v1/table HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${token}\r\n\r\n`
    const kept = [await dial(port), await dial(port)]
    for (const { socket, text } of kept) {
      socket.write(request)
      await expect.poll(text).toMatch(/200 OK/)
    }
    const closing = server.close()
    const isRefused = () =>
      ask('POST', path, {}).then(
        () => false,
        () => true,
      )
    await expect.poll(isRefused).toBe(true)
    for (const { socket, text, closed } of kept) {
      socket.write(request)
      await closed
      expect(text().match(/200 OK/g)).toHaveLength(2)
      expect(text().match(/connection: close/gi)).toHaveLength(1)
    }
    await closing
  })

  it('answers those whose connections it had not accepted yet', async () => {
    const { server, ask, port } = await running({ timeouts: { linger: 3_600_000 } })
    const dialed = Array.from({ length: 8 }, () => dial(port))
    // The kernel makes the connections now, and the server has no turn to accept them.
    await new Promise((resolve) => process.nextTick(resolve))
    const closing = server.close()
    for (const { socket, text, closed } of await Promise.all(dialed)) {
      socket.write(`GET /v1/table HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${token}\r\n\r\n`)
      await closed
      expect(text()).toMatch(/200 OK[\s\S]*connection: close/i)
    }
    await expect(ask('POST', path, {})).rejects.toThrow()
    await closing
  })

  it('does not wait for connections that never said anything', async () => {
    const { server, port } = await running({ timeouts: { headers: 60_000, shutdown: 60_000 } })
    const { closed } = await dial(port)
    await server.close()
    await closed
  })

  it('breaks off what takes longer than it waits', async () => {
    const { catalog, server, ask } = await running({ timeouts: { shutdown: 100 } })
    const held = holding(catalog)
    const slow = expect(ask('POST', path, {})).rejects.toThrow()
    await expect.poll(() => held.length).toBe(1)
    await server.close()
    await slow
    held[0]!()
  })

  it('says clearly why it cannot listen', async () => {
    const { catalog, port } = await running()
    await expect(serve(catalog, { auth: false, port, log: false })).rejects.toThrow(
      `cannot listen on 127.0.0.1:${port}: the port is in use`,
    )
  })
})

describe('overload', () => {
  it('answers ten times what it takes with successes and "Slow down", and serves on', async () => {
    const { catalog, ask } = await running({ limits: { inFlight: 8 } })
    const held = holding(catalog)
    const replies: Reply[] = []
    const asked = Array.from({ length: 80 }, async () => void replies.push(await ask('POST', path, {})))
    // Those that are served end only when all others are answered.
    await expect.poll(() => replies.length).toBe(72)
    for (const letGo of held.splice(0)) letGo()
    await Promise.all(asked)
    const refused = replies.filter(({ status }) => status !== 200)
    expect(refused).toHaveLength(72)
    for (const reply of refused) {
      expectProblem(reply, 503, 21, path)
      expect(reply.headers.get('retry-after')).toBe('1')
    }
    const next = ask('POST', path, {})
    await expect.poll(() => held).toHaveLength(1)
    held[0]!()
    expect((await next).status).toBe(200)
  })

  it('bodies wait for room, and all of them get through', async () => {
    const { catalog, ask } = await running({
      limits: { bodyBytes: 400_000, arrowBytes: 300_000, jsonBytes: 1_000 },
    })
    const rows = arrowRows({ a: Array.from({ length: 30_000 }, (_, i) => i / 3) })
    expect(rows.length).toBeGreaterThan(200_000)
    const replies = await Promise.all(
      Array.from({ length: 6 }, (_, i) => ask('POST', `/v1/table/t${i}/create`, rows, arrowStream)),
    )
    expect(replies.map(({ status }) => status)).toStrictEqual([200, 200, 200, 200, 200, 200])
    expect((await catalog.listTables({ id: [] })).tables).toHaveLength(6)
  })
})
