import { afterAll, describe, test } from 'vitest'
import { type FetchHandler, fetchHandler } from '../../src/http/index.ts'
import { openCatalog } from '../../src/index.ts'
import { httpSuite } from '../../src/testing/suites/http-suite.ts'

const token = 'a-token-of-the-suite'
let handler: FetchHandler | undefined

/** The server as a function, so that no socket is needed. */
async function started(): Promise<FetchHandler> {
  handler ??= await fetchHandler(await openCatalog('memory:'), { auth: { tokens: [token] } })
  return handler
}

afterAll(() => handler?.close())

httpSuite(
  { describe, test },
  {
    name: 'our own server',
    url: 'http://catalog.test',
    token,
    fetch: async (request) => (await started())(request),
  },
)
