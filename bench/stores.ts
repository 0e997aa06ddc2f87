/** What do the stores cost by themselves, and what does the LMDB store add to LMDB? */
import { join } from 'node:path'
import { open, type RootDatabase } from 'lmdb'
import type { Store, Writer } from '../src/base/store/store.ts'
import { openLmdbStore } from '../src/stores/lmdb/index.ts'
import { memoryStore } from '../src/stores/memory/index.ts'
import { about, figure } from './support/figures.ts'
import { inFlight, inTurn, microseconds, race } from './support/measure.ts'
import { count, most, pick, rounds, sizes } from './support/scale.ts'
import { newFolder } from './support/scratch.ts'
import { scattered } from './support/seed.ts'

about(`The two stores below the catalog, without it. In memory the limit is a Map, which neither forks nor keeps
snapshots nor order; on disk it is lmdb itself, with the same keys and records in its own JSON encoding.`)

const record = (id: number) => ({
  format: 1,
  id,
  name: `table_${id}`,
  parent: 1,
  location: `file:///data/catalog/tables/${id}`,
  properties: { owner: 'bench' },
})
const folder = newFolder('stores')
const putTable = (tx: Writer, i: number) => tx.put(['table', i], record(i))

await memory()
await writes()
await reads()

async function fill(store: Store, from: number, to: number): Promise<void> {
  for (let begin = from; begin < to; begin += 10_000) {
    await store.write((tx) => {
      for (let i = begin; i < Math.min(to, begin + 10_000); i++) putTable(tx, i)
    })
  }
}

async function memory(): Promise<void> {
  const store = memoryStore()
  const map = new Map<number, object>()
  let filled = 0
  // A catalog looks for its records before it puts them, which is how the store knows what is looked for.
  await store.read((tx) => tx.get(['table', 0]))
  for (const size of sizes) {
    await fill(store, filled, size)
    for (let i = filled; i < size; i++) map.set(i, record(i))
    filled = size
    const at = `at ${count(size)} entries`
    const gets = pick(5_000, 50_000)
    let found = 0
    const get = await race(rounds, {
      ours: (round) =>
        microseconds(gets, () =>
          store.read((tx) => {
            for (let i = 0; i < gets; i++) if (tx.get(['table', scattered(i + round, size)])) found++
          }),
        ),
      map: (round) =>
        microseconds(gets, () => {
          for (let i = 0; i < gets; i++) if (map.get(scattered(i + round, size))) found++
        }),
    })
    if (found === 0) throw new Error('Nothing was found.')
    figure(`memory store: one get, ${at}`, get.ours!, {
      unit: 'µs',
      against: [{ peer: 'a Map', samples: get.map!, remark: 'no order, no snapshots' }],
    })
    const puts = pick(500, 5_000)
    const write = await race(rounds, {
      ours: (round) =>
        microseconds(puts, () =>
          inTurn(puts, (i) => store.write((tx) => putTable(tx, scattered(i + round * puts, size)))),
        ),
      map: (round) =>
        microseconds(puts, () =>
          inTurn(puts, async (i) => {
            const id = scattered(i + round * puts, size)
            map.set(id, record(id))
          }),
        ),
    })
    figure(`memory store: one write, ${at}`, write.ours!, {
      unit: 'µs',
      target: { below: 15 },
      against: [{ peer: 'a Map', samples: write.map!, remark: 'nothing can be undone' }],
    })
    const fork = await race(rounds, {
      ours: () => microseconds(100, () => inTurn(100, () => store.fork())),
    })
    figure(`memory store: fork, ${at}`, fork.ours!, { unit: 'µs', target: { below: 1 } })
  }
  await store.close()
}

async function writes(): Promise<void> {
  const store = await openLmdbStore(join(folder, 'ours'))
  const raw: RootDatabase<unknown, [string, ...(string | number)[]]> = open({
    path: join(folder, 'raw.mdb'),
    overlappingSync: false,
    encoding: 'json',
  })
  let next = 0
  const name = (id: number): [string, number, string] => ['name', 1, `table_${String(id).padStart(7, '0')}`]
  const ours = () => {
    const id = next++
    return store.write((tx) => {
      tx.put(name(id), id)
      putTable(tx, id)
    })
  }
  const alone = () => {
    const id = next++
    return raw.childTransaction(() => {
      // Within a transaction, that one's promise tells of a failure.
      void raw.put(name(id), id)
      void raw.put(['table', id], record(id))
    })
  }
  for (const atOnce of [1, 16, 64, 256]) {
    const total = pick(10, 40) * Math.min(atOnce, 64)
    const measured = await race(rounds, {
      ours: () => microseconds(total, () => inFlight(total, atOnce, ours)),
      alone: () => microseconds(total, () => inFlight(total, atOnce, alone)),
    })
    figure(`LMDB store: a durable write of two records, ${atOnce} in flight`, measured.ours!, {
      unit: 'µs',
      against: [{ peer: 'lmdb', samples: measured.alone!, remark: 'durable too; child transactions' }],
    })
  }
  await store.close()
  await raw.close()
}

async function reads(): Promise<void> {
  const store = await openLmdbStore(join(folder, 'ours'))
  await fill(store, 0, most)
  const raw: RootDatabase<unknown, [string, ...(string | number)[]]> = open({
    path: join(folder, 'read.mdb'),
    encoding: 'json',
  })
  for (let from = 0; from < most; from += 10_000) {
    await raw.transaction(() => {
      for (let i = from; i < Math.min(most, from + 10_000); i++) void raw.put(['table', i], record(i))
    })
  }
  const gets = pick(2_000, 20_000)
  const get = await race(rounds, {
    ours: (round) =>
      microseconds(gets, () =>
        inTurn(gets, (i) => store.read((tx) => tx.get(['table', scattered(i + round, most)]))),
      ),
    alone: (round) =>
      microseconds(gets, () => inTurn(gets, (i) => raw.get(['table', scattered(i + round, most)]))),
  })
  figure(`LMDB store: one read transaction with a get, at ${count(most)} entries`, get.ours!, {
    unit: 'µs',
    against: [{ peer: 'lmdb', samples: get.alone!, remark: 'one get, no transaction of its own' }],
  })
  const pages = pick(100, 500)
  const page = await race(rounds, {
    ours: (round) =>
      microseconds(pages, () =>
        inTurn(pages, (i) =>
          store.read((tx) => [
            ...tx.range({
              prefix: ['table'],
              start: ['table', scattered(i * 31 + round, most - 100)],
              limit: 100,
            }),
          ]),
        ),
      ),
    alone: (round) =>
      microseconds(pages, () =>
        inTurn(pages, (i) => [
          ...raw.getRange({
            start: ['table', scattered(i * 31 + round, most - 100)],
            end: ['table', most],
            limit: 100,
          }),
        ]),
      ),
  })
  figure(`LMDB store: a range of 100 records, at ${count(most)} entries`, page.ours!, {
    unit: 'µs',
    against: [{ peer: 'lmdb', samples: page.alone! }],
  })
  await store.close()
  await raw.close()
}
