import { join } from 'node:path'
import * as arrow from 'apache-arrow'
import { expect, onTestFinished } from 'vitest'
import { freshFolder } from '../../../support/catalogs.ts'
import { Draw } from '../../../support/draw.ts'
import { lance, lanceIt } from '../../../support/lance-package.ts'
import { limitEach } from '../../../support/time-limit.ts'
import { Flows } from './support/flows.ts'
import { served } from './support/served.ts'

limitEach(120)

const runs = Number(process.env.HISTORY_RUNS ?? 1)
const seed = Number(process.env.FC_SEED ?? 20_261_128)

async function connections() {
  const server = await served('lmdb', { format: 'lance' })
  const local = await lance.connect(join(await freshFolder(), 'local'), { readConsistencyInterval: 0 })
  onTestFinished(async () => {
    local.close()
    await server[Symbol.asyncDispose]()
  })
  const remote = await lance.connect('db://shop', {
    apiKey: server.token,
    hostOverride: server.url,
    clientConfig: { retryConfig: { retries: 0 } },
  })
  return { local, remote }
}

lanceIt("random calls of LanceDB's client are answered as LanceDB answers them itself", async () => {
  const flows = new Flows(lance, arrow, await connections(), new Draw(seed))
  await flows.run(90 * runs)
  expect(flows.differences).toEqual([])
  // Most calls do something.
  const counts = [...flows.answered.values()]
  expect(counts.reduce((sum, count) => sum + count, 0)).toBeGreaterThan(40)
  expect(counts.length).toBeGreaterThan(9)
})

lanceIt('what Lance cannot do is refused in words, and an index finds a free name', async () => {
  const { remote } = await connections()
  const rows = Array.from({ length: 4 }, (_, n) => ({ n, t: `cat ${n}`, vector: [n, 1] }))
  const table = await remote.createTable('t', rows)
  const { Index } = lance
  // As an error of the request: one of the server would be asked again.
  await expect(
    table.createIndex('vector', { config: Index.ivfPq({ numPartitions: 1, numSubVectors: 1 }) }),
  ).rejects.toThrow(/400 Bad Request.*Not enough rows to train PQ/s)
  expect(await table.query().orderBy({ columnName: 'n' }).limit(0).toArray()).toEqual([])
  await table.createIndex('t', { config: Index.btree() })
  await table.createIndex('t', { config: Index.fts(), replace: false })
  expect((await table.listIndices()).map(({ name }) => name).sort()).toEqual(['t_idx', 't_idx_2'])
  const again = table.createIndex('t', { config: Index.btree(), replace: false })
  await expect(again).rejects.toThrow(/t_idx.*already exists/)
})
