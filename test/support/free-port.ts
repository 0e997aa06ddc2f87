import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * Each worker of a run takes ports of its own, one after the other. A server that is started later, or again, would
 * otherwise find its port taken now and then by one of another test.
 */
const lanes = 9
const lanePorts = 2_000
/** Below the ephemeral ports: otherwise a connection could get the port as its own while no server listens. */
const firstPort = 12_000
/** Whatever runs tests by itself has the last lane. */
const worker = Number(process.env.VITEST_POOL_ID ?? lanes)
const lane = worker < lanes ? worker - 1 : lanes - 1
let next = Math.floor(Math.random() * lanePorts)

/** A port of this worker without a listener. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = firstPort + lane * lanePorts + (next++ % lanePorts)
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
