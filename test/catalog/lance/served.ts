import { onTestFinished } from 'vitest'
import { type RunningServer, serve } from '../../../src/server/index.ts'
import type { LocalCatalog } from '../../../src/tabularium/index.ts'

/** A server for clients of Lance, until the running test ends. It takes their calls however busy the machine is. */
export async function servedForLance(catalog: LocalCatalog): Promise<RunningServer> {
  const server = await serve(catalog, {
    auth: false,
    listing: 'children',
    port: 0,
    limits: { eventLoopDelay: 0 },
  })
  onTestFinished(() => server.close())
  return server
}
