import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { serve } from '../../src/server/index.ts'
import { openCatalog } from '../../src/tabularium/index.ts'
import { holdTimers } from './support/hold-timers.ts'

async function running() {
  const catalog = await openCatalog('memory:')
  const server = await serve(catalog, { limits: { eventLoopDelay: 0 }, auth: false, port: 0 })
  const port = Number(new URL(server.url).port)
  onTestFinished(async () => {
    await server.close()
    await catalog.close()
  })
  const dial = async () => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true })
    onTestFinished(() => void socket.destroy())
    await once(socket, 'connect')
    return socket
  }
  return { catalog, port, dial }
}

async function dialed(): Promise<Socket> {
  return (await running()).dial()
}

const create = (name: string, body = '{"properties":{"name":"é"}}') =>
  Buffer.from(
    `POST /v1/namespace/${name}/create HTTP/1.1\r\nhost: localhost\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  )

/** The statuses of so many answers. */
async function statuses(socket: Socket, count: number): Promise<number[]> {
  let text = ''
  const found = () => Array.from(text.matchAll(/HTTP\/1\.1 (\d+)/g), ([, status]) => Number(status))
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
    text += chunk
    if (found().length >= count) break
  }
  return found()
}

it('a body is read whole, however it arrives', async () => {
  const socket = await dialed()
  const bytes = create('whole')
  socket.write(bytes)
  expect(await statuses(socket, 1)).toStrictEqual([200])

  for (const [i, cut] of [bytes.length - 1, bytes.length - 3, bytes.indexOf('\r\n\r\n') + 4].entries()) {
    const parts = create(`part${i}`)
    socket.write(parts.subarray(0, cut))
    // So that the parts arrive apart.
    await new Promise((resolve) => setTimeout(resolve, 20))
    socket.write(parts.subarray(cut))
    expect(await statuses(socket, 1)).toStrictEqual([200])
  }
})

it('requests sent without waiting are answered in turn', async () => {
  const socket = await dialed()
  const several = [create('a'), create('b'), create('a'), create('c', '{'), create('d')]
  socket.write(Buffer.concat(several))
  expect(await statuses(socket, several.length)).toStrictEqual([200, 200, 409, 400, 200])
})

/** A body that is refused by its length alone. */
const tooLong = 20_000_000

const refused = (headers = '') =>
  `POST /v1/namespace/$/describe HTTP/1.1\r\nhost: localhost\r\ncontent-length: ${tooLong}\r\n${headers}\r\n`

it('an answer before the end of a body ends the connection once the body was read, and nothing after it is done', async () => {
  const { catalog, dial } = await running()
  const socket = await dial()
  const errors: unknown[] = []
  socket.on('error', (error) => errors.push(error))
  socket.write(Buffer.concat([Buffer.from(refused()), Buffer.alloc(tooLong / 2)]))
  let text = ''
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) text += chunk
  // The server has told that it writes nothing more, and reads on.
  expect(text).toMatch(/^HTTP\/1\.1 400 [\s\S]*\r\nconnection: close\r\n[\s\S]*"error":"[^"]+"}$/i)
  socket.end(Buffer.concat([Buffer.alloc(tooLong / 2), create('after')]))
  await once(socket, 'close')
  expect(errors).toStrictEqual([])
  expect((await catalog.listNamespaces({ id: [] })).namespaces).toStrictEqual([])
})

it('a client that never sends the rest of a refused body is let go of', async () => {
  const { dial } = await running()
  const late = holdTimers(5_000)
  const socket = await dial()
  socket.write(refused())
  expect(await statuses(socket, 1)).toStrictEqual([400])
  socket.on('error', () => {})
  late()
  const ended = () => {
    if (!socket.destroyed) socket.write('x')
    return socket.destroyed
  }
  await expect.poll(ended).toBe(true)
})

it('a refused body that follows its head at once leaves the connection open', async () => {
  const { dial } = await running()
  const socket = await dial()
  for (const rest of [
    'content-length: 2\r\n\r\n|{}',
    'transfer-encoding: chunked\r\n\r\n2\r\n{}\r\n|0\r\n\r\n',
  ]) {
    const [first, second] = rest.split('|')
    socket.write(`POST /nowhere HTTP/1.1\r\nhost: localhost\r\n${first}`)
    setImmediate(() => socket.write(second!))
    expect(await statuses(socket, 1)).toStrictEqual([404])
  }
  socket.write(create('next'))
  expect(await statuses(socket, 1)).toStrictEqual([200])
})

it('a client that asks first sends a body only where it is wanted', async () => {
  const { dial } = await running()
  const expects = 'expect: 100-continue\r\n'
  const socket = await dial()
  socket.write(refused(expects))
  let text = ''
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) text += chunk
  expect(text).toMatch(/^HTTP\/1\.1 400 [\s\S]*\r\nconnection: close\r\n/i)
  const other = await dial()
  const [head, body] = create('wanted').toString().split('\r\n\r\n')
  other.write(`${head}\r\n${expects}\r\n`)
  expect(await statuses(other, 1)).toStrictEqual([100])
  other.write(body!)
  expect(await statuses(other, 1)).toStrictEqual([200])
})
