import { openCatalog } from '../dist/index.js'
import { type FakeCatalog, fakeCatalog } from '../dist/testing/index.js'
import { median, medianMicroseconds, report } from './support/measure.ts'

/*
 * What a fake catalog costs a test: to open, to fork, and a call that is recorded.
 */

const tables = 100_000
const batch = 10_000

const open = await medianMicroseconds(30, 1, async () => void (await fakeCatalog()))
report('open a fake', open / 1_000, 'ms', { below: 1 })
const seed = { prod: { flights: [{ origin: 'SFO', delay: 75 }], orders: [{ id: 1 }] } }
const seeded = await medianMicroseconds(30, 1, async () => void (await fakeCatalog({ seed })))
report('open a fake with two tables of rows', seeded / 1_000, 'ms')

const fake = await fakeCatalog({ seed: fill })
const plain = await openCatalog('memory:')
await fill(plain)
const forks = 1_000
const fork = await medianMicroseconds(15, forks, () => {
  for (let i = 0; i < forks; i++) fake.fork()
})
report(`fork at ${tables.toLocaleString('en')} tables`, fork, 'us', { below: 20 })
const used = await medianMicroseconds(7, forks, async () => {
  for (let i = 0; i < forks; i++) await fake.fork().dropTable({ id: ['ns', `t${i}`] })
})
report('fork, and drop a table in it', used, 'us')
await describes()

/** In turns, since what is asked for is the difference. */
async function describes(): Promise<void> {
  const without: number[] = []
  const recorded: number[] = []
  for (let round = 0; round < 15; round++) {
    without.push(await describe(plain))
    recorded.push(await describe(fake))
  }
  const figure = median(recorded.slice(3))
  report('describe, recorded', figure, 'us', { below: 3 })
  report('of that, the record', figure - median(without.slice(3)), 'us', { below: 0.3 })
  fake.faults.add({ operation: 'dropTable', fail: 'Throttling' })
  report('describe, with a fault for something else', await describe(fake), 'us')
}

function describe(catalog: Pick<FakeCatalog, 'describeTable'>): Promise<number> {
  const times = 20_000
  return medianMicroseconds(1, times, async () => {
    for (let i = 0; i < times; i++) await catalog.describeTable({ id: ['ns', `t${(i * 7919) % tables}`] })
  })
}

async function fill(catalog: Pick<FakeCatalog, 'createNamespace' | 'batchCommitTables'>): Promise<void> {
  await catalog.createNamespace({ id: ['ns'] })
  for (let from = 0; from < tables; from += batch) {
    await catalog.batchCommitTables({
      operations: Array.from({ length: batch }, (_, i) => ({
        declare_table: { id: ['ns', `t${from + i}`] },
      })),
    })
  }
}
