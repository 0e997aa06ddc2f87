import { onTestFinished } from 'vitest'
import { serve } from '../../src/server/index.ts'
import { openCatalog } from '../../src/tabularium/index.ts'

/** The URL of a server with a fresh catalog, until the test ends. With a token, it accepts no other token. */
export async function overHttpServer(token?: string): Promise<string> {
  const catalog = await openCatalog('memory:')
  const server = await serve(catalog, {
    limits: { eventLoopDelay: 0 },
    auth: token === undefined ? false : { tokens: [token] },
    port: 0,
  })
  onTestFinished(async () => {
    await server.close()
    await catalog.close()
  })
  return server.url
}
