import { once } from 'node:events'
import { connect, createServer } from 'node:net'

/** Stands before a server, and holds what clients send for so many milliseconds, as a distance does. */
export async function distantProxy(target: number, delay: number): Promise<{ port: number; close(): void }> {
  const proxy = createServer((client) => {
    const server = connect(target, '127.0.0.1')
    for (const socket of [client, server]) socket.setNoDelay(true)
    const end = () => {
      client.destroy()
      server.destroy()
    }
    client.on('error', end).on('close', end)
    server.on('error', end).on('close', end)
    // Timers of one length fire in their order.
    client.on('data', (bytes) => {
      if (delay === 0) server.write(bytes)
      else setTimeout(() => server.write(bytes), delay)
    })
    server.on('data', (bytes) => client.write(bytes))
  }).listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  return { port: (proxy.address() as { port: number }).port, close: () => proxy.close() }
}
