import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * A port nobody listens on. It lies below those that connections are given: while no server listens there, no
 * connection to it may get it as its own.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 12_000 + Math.floor(Math.random() * 18_000)
    const server = createServer().listen(port, '127.0.0.1')
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    )
    if (!isFree) continue
    server.close()
    await once(server, 'close')
    return port
  }
}
