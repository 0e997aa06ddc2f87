import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { serve } from '../../src/server/index.ts'
import { openCatalog } from '../../src/tabularium/index.ts'

async function dialed(): Promise<Socket> {
  const catalog = await openCatalog('memory:')
  const server = await serve(catalog, { limits: { eventLoopDelay: 0 }, auth: false, port: 0 })
  const socket = connect({ port: Number(new URL(server.url).port), host: '127.0.0.1', noDelay: true })
  onTestFinished(async () => {
    socket.destroy()
    await server.close()
    await catalog.close()
  })
  await once(socket, 'connect')
  return socket
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
