import { getEventListeners } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { expect, it, onTestFinished, vi } from 'vitest'
import { connect } from '../../src/client/index.ts'
import { eventStreamType, eventText } from '../../src/protocol/events.ts'

it('attempts to connect leave no listeners behind', async () => {
  const any = vi.spyOn(AbortSignal, 'any')
  onTestFinished(() => void any.mockRestore())
  let attempts = 0
  const catalog = connect('http://catalog.test', {
    fetch: async () => {
      attempts++
      if (attempts === 1) throw new TypeError('fetch failed')
      if (attempts < 4) return new Response('{}', { status: 503 })
      const body = new ReadableStream({
        start: (stream) => stream.enqueue(Buffer.from(eventText('token', 'first', { token: 'first' }))),
      })
      return new Response(body, { headers: { 'content-type': eventStreamType } })
    },
  })
  const changes = catalog.watch({ signal: new AbortController().signal })
  expect(await changes.token()).toBe('first')
  expect(attempts).toBe(4)
  // That of the connection.
  expect(getEventListeners(any.mock.results[0]!.value, 'abort')).toHaveLength(1)
  await changes.return()
  await catalog.close()
})

it('many watches of a client cause no warning', async () => {
  const warn = vi.spyOn(process, 'emitWarning')
  onTestFinished(() => void warn.mockRestore())
  const catalog = connect('http://catalog.test', {
    fetch: async () => {
      const body = new ReadableStream({
        start: (stream) => stream.enqueue(Buffer.from(eventText('token', 'first', { token: 'first' }))),
      })
      return new Response(body, { headers: { 'content-type': eventStreamType } })
    },
  })
  const all = Array.from({ length: 20 }, () => catalog.watch())
  expect(await Promise.all(all.map((changes) => changes.token()))).toEqual(all.map(() => 'first'))
  await catalog.close()
  expect(warn).not.toHaveBeenCalled()
})

/** The URL of a server that accepts connections. `answer` gets each, and the number of those before. */
async function acceptingServer(answer: (socket: Socket, before: number) => void): Promise<string> {
  const sockets: Socket[] = []
  const server = createServer((socket) => {
    socket.on('error', () => {})
    answer(socket, sockets.length)
    sockets.push(socket)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

it('a server that accepts and says nothing is given up after the timeout of the client', async () => {
  const url = await acceptingServer(() => {})
  const catalog = connect(url, { timeout: 100, retries: 0 })
  onTestFinished(() => catalog.close())
  await expect(catalog.watch().token()).rejects.toMatchObject({
    code: 'ServiceUnavailable',
    message: `The server at ${url} did not answer within 100 ms. Try again, or allow more time.`,
  })
})

it('a watch tries again after the timeout, and the stream that begins may be silent for longer', async () => {
  const head = `HTTP/1.1 200 OK\r\ncontent-type: ${eventStreamType}\r\n\r\n`
  const url = await acceptingServer((socket, before) => {
    if (before === 0) return
    socket.write(head + eventText('token', 'first', { token: 'first' }))
    setTimeout(() => socket.write(eventText('message', 'second', { changes: [] })), 400)
  })
  const catalog = connect(url, { timeout: 100 })
  onTestFinished(() => catalog.close())
  const changes = catalog.watch()
  expect(await changes.next()).toEqual({ done: false, value: { changes: [] } })
  await changes.return()
})
