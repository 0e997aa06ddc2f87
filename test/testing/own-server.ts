import { type FetchHandler, fetchHandler } from '../../src/server/index.ts'
import { openCatalog } from '../../src/tabularium/index.ts'

export const url = 'http://catalog.test'
export const token = 'a-token-of-the-suite'
export const otherToken = 'a-token-of-another-caller'

/** The package's server with a catalog in memory, as a function without a socket. */
export async function ownServer(): Promise<FetchHandler> {
  return fetchHandler(await openCatalog('memory:'), {
    auth: { tokens: [token, otherToken] },
    // No load shedding, since the machine may be busy with other tests.
    limits: { inFlight: 100_000, eventLoopDelay: 0 },
  })
}
