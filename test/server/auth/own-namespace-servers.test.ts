import { describe, onTestFinished, test } from 'vitest'
import { memoryContent } from '../../../src/contents/memory/index.ts'
import { type RunningServer, serve } from '../../../src/server/index.ts'
import { openPostgresStore } from '../../../src/stores/postgres/index.ts'
import { openCatalog } from '../../../src/tabularium/index.ts'
import { closedAfterwards } from '../../support/catalogs.ts'
import { missingPostgres, sharedServer } from '../../support/postgres.ts'
import { limitEach } from '../../support/time-limit.ts'
import { attackThrough, servedTo, throughFetch } from './attack.ts'

// It tries hundreds of requests through two servers.
limitEach(120)

const runs = Number(process.env.ATTACK_RUNS ?? 1)
const seed = Number(process.env.FC_SEED ?? 20_261_120)

describe.skipIf(missingPostgres)('one tenant neither sees nor changes what is of another', () => {
  test('through two servers over PostgreSQL, which pass requests of transactions on', async () => {
    const url = await (await sharedServer()).freshUrl()
    const content = memoryContent()
    const servers: RunningServer[] = []
    for (let n = 0; n < 2; n++) {
      const store = await openPostgresStore(url)
      const catalog = closedAfterwards(await openCatalog({ store, content, root: 'memory://all' }))
      const server = await serve(catalog, { ...(await servedTo(catalog)), port: 0, log: 'error' })
      onTestFinished(() => server.close())
      servers.push(server)
    }
    let turn = 0
    const door = throughFetch((request) => {
      const { pathname, search } = new URL(request.url)
      const target = new URL(pathname + search, servers[turn++ % servers.length]!.url)
      return fetch(new Request(target, request))
    })
    await attackThrough(door, 240 * runs, seed)
  })
})
