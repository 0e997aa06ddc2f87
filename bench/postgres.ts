/** How does a catalog in PostgreSQL compare with bare statements of the same shape? */
import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { openCatalog } from '../dist/tabularium/index.js'
import { missingPostgres, PostgresServer } from '../test/support/postgres.ts'
import { about, figure } from './support/figures.ts'
import { race } from './support/measure.ts'
import { pick, rounds } from './support/scale.ts'
import { newFolder } from './support/scratch.ts'

const callers = 64
const connections = 16
const millis = pick(300, 1_000)

about(`${callers} callers at once, on a server of this machine that syncs each commit. Bare statements run on ${connections}
connections, prepared: an INSERT of the three records that declaring a table writes, and a SELECT of the two that describing it
reads. They know nothing of names that are taken, nor of what others do meanwhile.`)

if (missingPostgres !== undefined) throw new Error(missingPostgres)
const server = await PostgresServer.start({ fsync: 'on' })
const location = (await server.freshUrl()) as `postgres://${string}`
const content = `file://${newFolder('postgres')}`
const catalogs = await Promise.all([1, 2, 3, 4].map(() => openCatalog(location, { content })))
await catalogs[0]!.createNamespace({ id: ['prod'] })
for (let i = 0; i < callers; i++) await catalogs[0]!.declareTable({ id: ['prod', `d${i}`] })
await server.query('CREATE TABLE bare (key bytea PRIMARY KEY, value text NOT NULL, version bigint NOT NULL)')
const pool = new pg.Pool({ connectionString: server.url(), max: connections })

const record = JSON.stringify({ v: 1, id: randomUUID(), created_at: Date.now() })
const insert = {
  name: 'insert',
  text: 'INSERT INTO bare SELECT k, v, 1 FROM unnest($1::bytea[], $2::text[]) AS r(k, v)',
}
const select = { name: 'select', text: 'SELECT key, value, version FROM bare WHERE key = ANY($1::bytea[])' }
const keysOf = (n: number) => [0, 1, 2].map((part) => Buffer.from(`${n}-${part}`))
const records = [
  record,
  '["parent","name"]',
  JSON.stringify({ status: 'Succeeded', subject: ['prod', 't'], record }),
]
for (let i = 0; i < callers; i++) await pool.query({ ...insert, values: [keysOf(-1 - i), records] })

/** Calls a second, by all callers together. */
async function rate(call: (caller: number) => Promise<unknown>): Promise<number> {
  let done = 0
  const start = performance.now()
  const work = async (caller: number) => {
    while (performance.now() - start < millis) {
      await call(caller)
      done++
    }
  }
  await Promise.all(Array.from({ length: callers }, (_, caller) => work(caller)))
  return (done * 1000) / (performance.now() - start)
}

let next = 0
const declare = (servers: number) => (caller: number) =>
  catalogs[caller % servers]!.declareTable({ id: ['prod', `t${next++}`] })
const describe = (servers: number) => (caller: number) =>
  catalogs[caller % servers]!.describeTable({ id: ['prod', `d${caller}`] })

const declared = await race(rounds, {
  bare: () => rate(() => pool.query({ ...insert, values: [keysOf(next++), records] })),
  one: () => rate(declare(1)),
  two: () => rate(declare(2)),
  four: () => rate(declare(4)),
})
const described = await race(rounds, {
  bare: () => rate((caller) => pool.query({ ...select, values: [keysOf(-1 - caller).slice(0, 2)] })),
  one: () => rate(describe(1)),
  two: () => rate(describe(2)),
  four: () => rate(describe(4)),
})
for (const [name, measured, peer] of [
  ['declare', declared, 'bare INSERT'],
  ['describe', described, 'bare SELECT'],
] as const) {
  for (const stores of ['one', 'two', 'four'] as const) {
    // Descriptions that are asked for together share a trip.
    const atLeast = name === 'describe' ? 2.5 : stores === 'one' ? 0.5 : 0.7
    figure(`${name}, ${stores} open ${stores === 'one' ? 'catalog' : 'catalogs'}`, measured[stores]!, {
      unit: '/s',
      better: 'more',
      against: [{ peer, samples: measured.bare!, as: 'speed', target: { atLeast } }],
    })
  }
}

await pool.end()
for (const catalog of catalogs) await catalog.close()
await server.stop()
