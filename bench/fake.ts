/** What does a fake catalog cost a test: to open, to fork, and a call that is recorded? */
import { openCatalog } from '../dist/tabularium/index.js'
import { type FakeCatalog, fakeCatalog } from '../dist/testing/index.js'
import { about, figure } from './support/figures.ts'
import { inTurn, microseconds, race } from './support/measure.ts'
import { openSqlite } from './support/peers/sqlite.ts'
import { count, pick } from './support/scale.ts'
import { declareTables, scattered, tableName, tableNames } from './support/seed.ts'

const tables = pick(10_000, 100_000)
const rounds = pick(3, 15)

about(`A fake catalog with ${count(tables)} tables, beside a catalog in memory, which keeps no record of calls and
fails on nobody's demand, and beside what a test has otherwise: SQLite in memory, filled anew.`)

type Fillable = Pick<FakeCatalog, 'createNamespace' | 'batchCommitTables'>
const fill = async (catalog: Fillable) => {
  await catalog.createNamespace({ id: ['ns'] })
  await declareTables(catalog, tables, () => ['ns'])
}
const seed = { prod: { flights: [{ origin: 'SFO', delay: 75 }], orders: [{ id: 1 }] } }
const fake = await fakeCatalog({ seed: fill })
const plain = await openCatalog('memory:')
await fill(plain)
const sqlite = await openSqlite(':memory:', 'none').catch(() => undefined)
sqlite?.declareAll(tableNames(tables))

await opens()
await forks()
await describes()

async function opens(): Promise<void> {
  const opened = await race(rounds * 2, {
    fake: () => microseconds(1_000, () => fakeCatalog()),
    seeded: () => microseconds(1_000, () => fakeCatalog({ seed })),
    plain: () => microseconds(1_000, () => openCatalog('memory:')),
    ...(sqlite && { sqlite: () => microseconds(1_000, () => openSqlite(':memory:', 'none')) }),
  })
  const peers = [
    { peer: 'a catalog in memory', samples: opened.plain!, as: 'cost' as const },
    ...(opened.sqlite
      ? [{ peer: 'sqlite memory', samples: opened.sqlite, remark: 'with its two tables' }]
      : []),
  ]
  figure('open a fake', opened.fake!, { unit: 'ms', target: { below: 1 }, against: peers })
  figure('open a fake with two tables of rows', opened.seeded!, { unit: 'ms', against: peers })
}

async function forks(): Promise<void> {
  const times = pick(100, 1_000)
  let next = 0
  const forked = await race(rounds, {
    fake: () => microseconds(times, () => inTurn(times, () => fake.fork())),
    plain: () => microseconds(times, () => inTurn(times, () => plain.fork())),
    used: () =>
      microseconds(times, () =>
        inTurn(times, () => fake.fork().dropTable({ id: ['ns', tableName(next++ % tables)] })),
      ),
  })
  const filled = await race(pick(1, 3), { sqlite: () => refill() })
  figure(`fork at ${count(tables)} tables`, forked.fake!, {
    unit: 'µs',
    target: { below: 20 },
    against: [
      { peer: 'a catalog in memory', samples: forked.plain!, as: 'cost' },
      ...(sqlite ? [{ peer: 'sqlite memory, filled anew', samples: filled.sqlite! }] : []),
    ],
  })
  figure('fork, and drop a table in it', forked.used!, { unit: 'µs' })
}

async function refill(): Promise<number> {
  return microseconds(1, async () => {
    const again = await openSqlite(':memory:', 'none').catch(() => undefined)
    again?.declareAll(tableNames(tables))
    again?.close()
  })
}

async function describes(): Promise<void> {
  const times = pick(2_000, 20_000)
  const timed = (catalog: Pick<FakeCatalog, 'describeTable'>) => () =>
    microseconds(times, () =>
      inTurn(times, (i) => catalog.describeTable({ id: ['ns', tableName(scattered(i, tables))] })),
    )
  const described = await race(rounds, {
    fake: timed(fake),
    plain: timed(plain),
    ...(sqlite && {
      sqlite: () =>
        microseconds(times, () => inTurn(times, (i) => sqlite.describe(tableName(scattered(i, tables))))),
    }),
  })
  const peers = [
    { peer: 'a catalog in memory', samples: described.plain!, as: 'cost' as const },
    ...(described.sqlite
      ? [{ peer: 'sqlite memory', samples: described.sqlite, remark: 'records nothing' }]
      : []),
  ]
  figure('describe, recorded', described.fake!, { unit: 'µs', target: { below: 3 }, against: peers })
  const extra = described.fake!.map((one, round) => one - described.plain![round]!)
  figure('of that, the record', extra, { unit: 'µs', target: { below: 0.3 } })
  fake.faults.add({ operation: 'dropTable', fail: 'Throttling' })
  const waiting = await race(rounds, { fake: timed(fake) })
  figure('describe, with a fault for something else', waiting.fake!, { unit: 'µs' })
}
