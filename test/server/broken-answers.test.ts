import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { Readable } from 'node:stream'
import { expect, it, onTestFinished } from 'vitest'
import type { HttpCore } from '../../src/server/core/core.ts'
import { nodeServer } from '../../src/server/node-server.ts'

/* A client must not take an answer that broke off for all of it, also where the end of the connection ends an answer. */

/** What a client gets of an answer of three parts, which breaks after so many of them. */
async function received(version: string, breaksAfter: number) {
  async function* parts() {
    for (let part = 0; part < 3; part++) {
      if (part === breaksAfter) throw new Error('the disk broke')
      yield Buffer.from('rows')
      // So that the parts before have been sent.
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
  const answer = { status: 200, body: Readable.from(parts(), { objectMode: false }) }
  const core = { respond: async () => answer, headersOf: () => ({}) } as unknown as HttpCore
  const server = nodeServer(core)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  let text = ''
  let error: string | undefined
  socket.on('data', (chunk) => {
    text += chunk
  })
  socket.on('error', ({ code }: NodeJS.ErrnoException) => {
    error = code
  })
  const closed = new Promise((resolve) => {
    socket.once('close', resolve)
  })
  socket.write(`GET / HTTP/${version}\r\nhost: localhost\r\nconnection: close\r\n\r\n`)
  await closed
  return { text, error }
}

it.each([0, 1, 2])('HTTP/1.0: the connection is reset after %s of 3 parts', async (parts) => {
  expect((await received('1.0', parts)).error).toBe('ECONNRESET')
})

it('HTTP/1.0: the connection ends after a whole answer', async () => {
  const { text, error } = await received('1.0', 3)
  expect(error).toBeUndefined()
  expect(text).toMatch(/rowsrowsrows$/)
})

it.each([0, 1, 2])('HTTP/1.1: the last chunk lacks after %s of 3 parts', async (parts) => {
  expect((await received('1.1', parts)).text).not.toMatch(/\r\n0\r\n\r\n$/)
  expect((await received('1.1', 3)).text).toMatch(/rows\r\n0\r\n\r\n$/)
})
