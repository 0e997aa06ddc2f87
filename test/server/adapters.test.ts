import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import fastify from 'fastify'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { HttpCore } from '../../src/server/core/core.ts'
import type { Exchange } from '../../src/server/core/exchange.ts'
import { handlerOf } from '../../src/server/fetch.ts'
import { nodeServer } from '../../src/server/node-server.ts'
import { mountCore } from '../../src/server/plugin.ts'
import { serveInMemory } from './support/ask.ts'

const path = 'http://localhost/v1/table'

/** A core with the given answer. */
function coreOf(respond: (exchange: Exchange) => Readable | string | Buffer): HttpCore {
  const answer = async (exchange: Exchange) => ({ status: 200, body: respond(exchange) })
  return {
    respond: answer,
    operation: answer,
    pages: new Map(),
    mounts: new Map(),
    failure: () => ({ status: 500, body: 'failed' }),
    headersOf: () => ({ 'content-type': 'text/plain' }),
    advertise: () => {},
    drain: () => {},
    closeConnections: () => {},
    stop: () => {},
    close: async () => {},
  }
}

/** The three adapters, each as a function. */
const adapters: Record<string, (core: HttpCore) => Promise<(request: Request) => Promise<Response>>> = {
  fetch: async (core) => handlerOf(core),
  node: async (core) => {
    const server = nodeServer(core).listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => void server.close().closeAllConnections())
    return (request) => fetch(atPort((server.address() as AddressInfo).port, request))
  },
  plugin: async (core) => {
    const app = fastify()
    mountCore(app, core)
    await app.listen({ host: '127.0.0.1', port: 0 })
    onTestFinished(async () => {
      app.server.closeAllConnections()
      await app.close()
    })
    return (request) => fetch(atPort((app.server.address() as AddressInfo).port, request))
  },
}

function atPort(port: number, { method, body, signal }: Request): Request {
  return new Request(`http://127.0.0.1:${port}/v1/table`, {
    method,
    body,
    signal,
    duplex: 'half',
  } as RequestInit)
}

describe.each(Object.entries(adapters))('by %s', (_name, adapter) => {
  it('an answer is read while it is made', async () => {
    const chunks = new Readable({ read: () => {} })
    const closed: boolean[] = []
    const ask = await adapter(
      coreOf((exchange) => {
        exchange.onClose((isAnswered) => closed.push(isAnswered))
        return chunks
      }),
    )
    chunks.push('first')
    const response = await ask(new Request(path))
    const reader = response.body!.getReader()
    expect(Buffer.from((await reader.read()).value!).toString()).toBe('first')
    expect(closed).toStrictEqual([])
    chunks.push('second')
    chunks.push(null)
    expect(Buffer.from((await reader.read()).value!).toString()).toBe('second')
    expect((await reader.read()).done).toBe(true)
    await expect.poll(() => closed).toStrictEqual([true])
  })

  it('a body is read while it is sent', async () => {
    const ask = await adapter(coreOf(({ body }) => body))
    let send: ReadableStreamDefaultController | undefined
    const body = new ReadableStream({
      start: (controller) => {
        send = controller
      },
    })
    send!.enqueue(Buffer.from('ping'))
    const response = await ask(new Request(path, { method: 'POST', body, duplex: 'half' } as RequestInit))
    const reader = response.body!.getReader()
    expect(Buffer.from((await reader.read()).value!).toString()).toBe('ping')
    send!.enqueue(Buffer.from('pong'))
    expect(Buffer.from((await reader.read()).value!).toString()).toBe('pong')
    send!.close()
    expect((await reader.read()).done).toBe(true)
  })

  it('an answer that nobody reads any more ends', async () => {
    const chunks = new Readable({ read: () => {} })
    const closed: boolean[] = []
    const exchanges: Exchange[] = []
    const ask = await adapter(
      coreOf((exchange) => {
        exchanges.push(exchange)
        exchange.onClose((isAnswered) => closed.push(isAnswered))
        return chunks
      }),
    )
    chunks.push('first')
    const response = await ask(new Request(path))
    const reader = response.body!.getReader()
    await reader.read()
    await reader.cancel()
    await expect.poll(() => [chunks.destroyed, closed]).toStrictEqual([true, [false]])
    // What is to be done afterwards is done at once.
    exchanges[0]!.onClose((isAnswered) => closed.push(isAnswered))
    expect(closed).toStrictEqual([false, false])
  })

  it('HEAD has no body', async () => {
    const chunks = Readable.from(['text'])
    const ask = await adapter(coreOf(() => chunks))
    const response = await ask(new Request(path, { method: 'HEAD' }))
    expect([response.status, await response.text()]).toStrictEqual([200, ''])
    await expect.poll(() => chunks.destroyed).toBe(true)
  })

  it('bytes and text are answered with their length', async () => {
    for (const body of ['häuser', Buffer.from('häuser')]) {
      const ask = await adapter(coreOf(() => body))
      const response = await ask(new Request(path))
      expect([response.headers.get('content-length'), await response.text()]).toStrictEqual(['7', 'häuser'])
    }
  })
})

describe('a server of node:http', () => {
  it('answers no request with an error of what came behind it on the connection', async () => {
    const core = coreOf(() => 'done')
    let end: (() => void) | undefined
    const respond = async (exchange: Exchange) => {
      await new Promise<void>((resolve) => {
        end = resolve
      })
      return core.respond(exchange)
    }
    const server = nodeServer({ ...core, respond }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => void server.close().closeAllConnections())
    const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
    let received = ''
    client.on('data', (bytes) => {
      received += bytes
    })
    client.write('POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n')
    await expect.poll(() => end).toBeDefined()
    client.write('garbage\r\n\r\n')
    await once(client, 'close')
    expect(received).toBe('')
    end!()
  })
})

describe('the fetch handler', () => {
  it('rejects with the reason of an abort, and tells the operation', async () => {
    const { handler, catalog } = await serveInMemory()
    let signal: AbortSignal | undefined
    let end: (() => void) | undefined
    Object.assign(catalog, {
      countTableRows: (_request: unknown, options: { signal: AbortSignal }) => {
        signal = options.signal
        return new Promise<void>((resolve) => {
          end = resolve
        })
      },
    })
    const controller = new AbortController()
    const request = () =>
      new Request('http://localhost/v1/table/t/count_rows', { method: 'POST', signal: controller.signal })
    const asked = handler(request())
    await expect.poll(() => signal).toBeDefined()
    expect(signal!.aborted).toBe(false)
    const reason = new Error('enough')
    controller.abort(reason)
    await expect(asked).rejects.toBe(reason)
    expect(signal!.aborted).toBe(true)
    await expect(handler(request())).rejects.toBe(reason)
    end!()
  })

  it('ends an answer that began after the abort', async () => {
    const body = new Readable({ read: () => {} })
    let end: (() => void) | undefined
    const core = coreOf(() => body)
    const handler = handlerOf({
      ...core,
      respond: async (exchange) => {
        await new Promise<void>((resolve) => {
          end = resolve
        })
        return core.respond(exchange)
      },
    })
    const controller = new AbortController()
    const asked = handler(new Request(path, { signal: controller.signal }))
    controller.abort()
    await expect(asked).rejects.toThrow(/aborted/)
    end!()
    await expect.poll(() => body.destroyed).toBe(true)
  })

  it('waits for what runs when it closes, and takes nothing new', async () => {
    const { handler, catalog } = await serveInMemory()
    let end: (() => void) | undefined
    const describe = catalog.describeNamespace
    Object.assign(catalog, {
      describeNamespace: async (request: never) => {
        await new Promise<void>((resolve) => {
          end = resolve
        })
        return describe(request)
      },
    })
    const ask = () => handler(new Request('http://localhost/v1/namespace/$/describe', { method: 'POST' }))
    const running = ask()
    await expect.poll(() => end).toBeDefined()
    let closed = false
    const closing = handler.close().then(() => {
      closed = true
    })
    expect((await ask()).status).toBe(503)
    expect((await handler(new Request('http://localhost/readyz'))).status).toBe(503)
    // Nothing may happen meanwhile.
    await sleep(20)
    expect(closed).toBe(false)
    end!()
    expect((await running).status).toBe(200)
    await closing
  })

  it('lets go of a body that it refused', async () => {
    const { handler } = await serveInMemory({ auth: { tokens: ['the-right-token-1'] } })
    let cancelled = false
    const body = new ReadableStream({
      pull: (controller) => controller.enqueue(new Uint8Array(1_000)),
      cancel: () => {
        cancelled = true
      },
    })
    const request = new Request(path, { method: 'POST', body, duplex: 'half' } as RequestInit)
    expect((await handler(request)).status).toBe(405)
    await expect.poll(() => cancelled).toBe(true)
  })
})
