/** What does one operation cost when many are committed as one? */
import { join } from 'node:path'
import { openCatalog } from '../dist/tabularium/index.js'
import { about, chart, figure } from './support/figures.ts'
import { microseconds, race, type Spread, spread } from './support/measure.ts'
import { openRawLmdb } from './support/peers/raw-lmdb.ts'
import { openSqlite, type SqliteCatalog } from './support/peers/sqlite.ts'
import { count, pick, rounds } from './support/scale.ts'
import { newFolder } from './support/scratch.ts'
import { seededDirectory, seedTables } from './support/seed.ts'

const size = pick(1_000, 100_000)

about(`batchCommitTables with 1 to 10,000 declarations, beside as many in one transaction of the peers, on
catalogs of ${count(size)} tables. On disk the commit is synced before it is acknowledged, by all. We check each
name and keep a record of the transaction; the peers only put.`)

const folder = newFolder('batch')
const memory = await openCatalog('memory:')
await seedTables(memory, size)
const disk = await openCatalog(await seededDirectory(size))
const lmdb = openRawLmdb(join(folder, 'raw.mdb'))
const sqlite = await openSqlite(join(folder, 'catalog.sqlite'), 'full').catch(() => undefined)
const sqliteMemory = await openSqlite(':memory:', 'none').catch(() => undefined)
let next = Date.now() % 1_000_000_000

const contenders: Record<string, (size: number) => Promise<number>> = {
  memory: (size) => timed(size, (names) => commit(memory, names)),
  disk: (size) => timed(size, (names) => commit(disk, names)),
  lmdb: (size) => timed(size, (names) => lmdb.declareAll(names)),
  ...bySqlite('sqlite FULL', sqlite),
  ...bySqlite('sqlite memory', sqliteMemory),
}
const points: ({ series: string; x: number } & Spread)[] = []
for (const size of [1, 10, 100, 1_000, 10_000]) {
  const samples = await race(
    size === 10_000 ? pick(2, 5) : rounds,
    Object.fromEntries(Object.entries(contenders).map(([name, run]) => [name, () => run(size)])),
  )
  for (const [series, each] of Object.entries(samples)) points.push({ series, x: size, ...spread(each) })
  const of = (peer: string, remark: string) =>
    peer in samples ? [{ peer, samples: samples[peer]!, remark }] : []
  figure(`batch of ${count(size)}, memory, each`, samples.memory!, {
    unit: 'µs',
    target: size === 1_000 ? { below: 5 } : size === 10_000 ? { atMost: 4 } : undefined,
    against: of('sqlite memory', 'in memory too; nothing checked'),
  })
  figure(`batch of ${count(size)}, disk, each`, samples.disk!, {
    unit: 'µs',
    target: size === 10_000 ? { atMost: 7 } : undefined,
    headline: size === 10_000 ? 'Commit 10,000 changes as one, durable' : undefined,
    against: [
      ...of('sqlite FULL', 'durable too; one row each, nothing checked'),
      ...of('lmdb', 'durable too; the bare two puts, nothing checked'),
    ],
  })
}
chart({
  id: 'batch',
  title: 'Cost of one declaration in a batch',
  x: 'declarations in a batch',
  y: 'µs each',
  points,
})
await Promise.all([memory.close(), disk.close(), lmdb.close()])

function commit(catalog: typeof disk, names: readonly string[]): Promise<unknown> {
  return catalog.batchCommitTables({
    operations: names.map((name) => ({ declare_table: { id: ['ns', name] } })),
  })
}

function bySqlite(
  name: string,
  db: SqliteCatalog | undefined,
): Record<string, (size: number) => Promise<number>> {
  return db ? { [name]: (size) => timed(size, (names) => db.declareAll(names)) } : {}
}

/** Small batches are repeated, so that each turn is some milliseconds. */
async function timed(size: number, work: (names: string[]) => unknown): Promise<number> {
  const times = Math.ceil(20 / Math.sqrt(size))
  const batches = Array.from({ length: times }, () => Array.from({ length: size }, () => `b${next++}`))
  return microseconds(times * size, async () => {
    for (const names of batches) await work(names)
  })
}
