import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { serve } from '../../../src/server/index.ts'
import { openCatalog } from '../../../src/tabularium/index.ts'
import { limitEach } from '../../support/time-limit.ts'
import { arrowStream, asking } from '../support/ask.ts'

// Hundreds of connections send a byte now and then.
limitEach(60)

const head = 'POST /v1/table/t/insert HTTP/1.1\r\nhost: localhost\r\n'
const typed = `${head}content-type: ${arrowStream['content-type']}\r\n`
const chunked = `${typed}transfer-encoding: chunked\r\n\r\n`
const text = 'POST /v1/table/t/describe HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n'

/** What slow clients begin with, and what they go on with, again and again. */
const kinds: Readonly<Record<string, readonly [begin: string, drip: string]>> = {
  nothing: ['', ''],
  'the first line': ['GET /', 'x'],
  headers: [head, 'x: y\r\n'],
  'a body': [`${typed}content-length: 100000\r\n\r\n`, 'x'],
  'a small body': [`${text}content-length: 1000\r\n\r\n`, 'x'],
  chunks: [chunked, '1\r\nx\r\n'],
  'the extension of a chunk': [`${chunked}1;`, 'x'],
  'the size of a chunk': [chunked, '0'],
  trailers: [`${text}transfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n`, 'x: y\r\n'],
  'a body nobody reads': ['POST /nowhere HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100000\r\n\r\n', 'x'],
}

it('slow clients of each kind are let go of, and leave nothing', async () => {
  const catalog = await openCatalog('memory:')
  await catalog.createTable({ id: ['t'], data: [{ n: 0 }] })
  const timeouts = { headers: 1_000, request: 3_000, upload: 600 }
  const server = await serve(catalog, {
    auth: false,
    port: 0,
    log: false,
    timeouts,
    limits: { eventLoopDelay: 0 },
  })
  const sockets: Socket[] = []
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy()
    await server.close()
    await catalog.close()
  })
  const port = Number(new URL(server.url).port)
  const open = new Map<Socket, string>()
  for (const [kind, [begin, drip]] of Object.entries(kinds)) {
    for (let n = 0; n < 40; n++) {
      const socket = connect({ port, host: '127.0.0.1' })
      sockets.push(socket)
      open.set(socket, kind)
      socket.on('error', () => {}).resume()
      socket.once('connect', () => {
        socket.write(begin)
        const timer = setInterval(() => socket.write(drip), 100)
        // A client that reads the end of the connection, and goes on sending.
        socket.once('close', () => {
          clearInterval(timer)
          open.delete(socket)
        })
      })
    }
  }
  await Promise.all(sockets.map((socket) => once(socket, 'connect')))
  const ask = asking(fetch, server.url)
  const counted = async (name: string) =>
    Number(new RegExp(`^${name} (\\d+)`, 'm').exec((await ask('GET', '/metrics')).text)?.[1])
  // Others are served all the while.
  expect((await ask('POST', '/v1/table/t/count_rows', {})).text).toBe('1')
  await expect.poll(() => [...new Set(open.values())], { timeout: 30_000 }).toStrictEqual([])
  await expect.poll(() => counted('tabularium_body_bytes')).toBe(0)
  await expect.poll(() => counted('tabularium_requests_in_flight')).toBe(0)
  expect((await catalog.countTableRows({ id: ['t'] })).count).toBe(1)
})
