import { afterAll, describe, test } from 'vitest'
import { icebergRest } from '../../src/iceberg/index.ts'
import { fetchHandler } from '../../src/server/index.ts'
import { openCatalog } from '../../src/tabularium/index.ts'
import { fakeServer, icebergSuite } from '../../src/testing/index.ts'
import { temporaryDirectory } from '../support/folders.ts'

const token = 'a-token-of-the-suite'

for (const [name, url] of [
  ['our server over memory', 'memory:'],
  ['our server over a directory', await temporaryDirectory()],
] as const) {
  const catalog = await openCatalog(url)
  const limits = { inFlight: 100_000, eventLoopDelay: 0 }
  const handle = await fetchHandler(catalog, {
    auth: { tokens: [token] },
    limits,
    mounts: [icebergRest(catalog)],
  })
  afterAll(async () => {
    await handle.close()
    await catalog.close()
  })
  await icebergSuite({ describe, test }, { name, url: 'http://catalog.test/iceberg', token, fetch: handle })
}

const fake = await fakeServer({ iceberg: true })
afterAll(() => fake.close())
await icebergSuite({ describe, test }, { name: 'our fake', url: `${fake.url}/iceberg/` })
