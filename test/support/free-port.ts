import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * A port without a listener, below the ephemeral ports: otherwise a connection to it could get it as its own local port
 * while no server listens.
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
