/** What does a transaction over many operations cost? */
import { serve } from '../dist/server/index.js'
import { type LocalCatalog, openCatalog } from '../dist/tabularium/index.js'
import { about, figure } from './support/figures.ts'
import { milliseconds, race } from './support/measure.ts'
import { count, pick, rounds } from './support/scale.ts'
import { newFolder } from './support/scratch.ts'

const declarations = pick(200, 1_000)
const repeats = pick(10, 30)
const writers = 8
const each = pick(3, 10)

about(`A transaction that inserts a row into each of two tables, beside one such insert and beside the two; one that
inserts ten rows one by one into one table, beside one such insert; ${count(declarations)} declarations in a transaction
beside as many in one batch; and ${writers} writers at once whose transactions insert into the same two tables, beside as
many inserts alone. The transaction of two inserts is also asked for over HTTP, where it takes two requests more. On disk
everything is synced before it is acknowledged.`)

const disk = await openCatalog(newFolder('transactions'))
const memory = await openCatalog('memory:')
for (const catalog of [disk, memory]) {
  for (const id of [['a'], ['b'], ['c']]) await catalog.createTable({ id, data: [{ k: 1 }] })
}
let next = 0
const insert = (catalog: Pick<LocalCatalog, 'insertIntoTable'>, name: string) =>
  catalog.insertIntoTable({ id: [name], data: [{ k: next++ }] })
const both = (catalog: Pick<LocalCatalog, 'transaction'>) =>
  catalog.transaction(async (tx) => {
    await insert(tx, 'a')
    await insert(tx, 'b')
  })

const many = (catalog: Pick<LocalCatalog, 'transaction'>) =>
  catalog.transaction(async (tx) => {
    for (let i = 0; i < 10; i++) await insert(tx, 'c')
  })

for (const [where, catalog] of [
  ['disk', disk],
  ['memory', memory],
] as const) {
  const isDisk = where === 'disk'
  // Often enough for the code to be compiled: an application runs for days.
  for (let i = 0; i < pick(5, 400); i++) {
    await both(catalog)
    await many(catalog)
    await insert(catalog, 'a')
  }
  const repeated = (work: () => Promise<unknown>) => async () => {
    const taken = await milliseconds(async () => {
      for (let i = 0; i < repeats; i++) await work()
    })
    return taken / repeats
  }
  const inserts = await race(rounds, {
    transaction: repeated(() => both(catalog)),
    two: repeated(async () => {
      await insert(catalog, 'a')
      await insert(catalog, 'b')
    }),
    one: repeated(() => insert(catalog, 'a')),
    ten: repeated(() => many(catalog)),
  })
  figure(`transaction of two inserts, ${where}`, inserts.transaction!, {
    unit: 'ms',
    against: [
      { peer: 'the two inserts', samples: inserts.two!, as: 'cost', remark: 'without a transaction' },
      {
        peer: 'one insert',
        samples: inserts.one!,
        as: 'cost',
        remark: 'half of the work',
        target: isDisk ? { atMost: 1.4 } : undefined,
      },
    ],
  })
  figure(`transaction of ten inserts into one table, ${where}`, inserts.ten!, {
    unit: 'ms',
    against: [
      {
        peer: 'one insert',
        samples: inserts.one!,
        as: 'cost',
        remark: 'a tenth of the work',
        target: isDisk ? { atMost: 2.5 } : undefined,
      },
    ],
  })

  const names = () => Array.from({ length: declarations }, () => `t${next++}`)
  const declared = await race(rounds, {
    transaction: () => {
      const all = names()
      return milliseconds(() =>
        catalog.transaction(async (tx) => {
          for (const name of all) await tx.declareTable({ id: [name] })
        }),
      )
    },
    batch: () => {
      const operations = names().map((name) => ({ declare_table: { id: [name] } }))
      return milliseconds(() => catalog.batchCommitTables({ operations }))
    },
  })
  figure(`transaction of ${count(declarations)} declarations, ${where}`, declared.transaction!, {
    unit: 'ms',
    against: [
      {
        peer: 'one batch',
        samples: declared.batch!,
        as: 'cost',
        target: isDisk ? { atMost: 2 } : undefined,
      },
    ],
  })

  let runs = 0
  const atOnce = (work: () => Promise<unknown>) => async () => {
    const taken = await milliseconds(() =>
      Promise.all(
        Array.from({ length: writers }, async () => {
          for (let i = 0; i < each; i++) await work()
        }),
      ),
    )
    return (1_000 * writers * each) / taken
  }
  const shared = await race(rounds, {
    transactions: atOnce(() =>
      catalog.transaction(async (tx) => {
        runs++
        await insert(tx, 'a')
        await insert(tx, 'b')
      }),
    ),
    inserts: atOnce(async () => {
      await insert(catalog, 'a')
      await insert(catalog, 'b')
    }),
  })
  const commits = (shared.transactions!.length + 1) * writers * each
  figure(`transactions of ${writers} writers on the same two tables, ${where}`, shared.transactions!, {
    unit: '/s',
    better: 'more',
    against: [{ peer: 'pairs of inserts', samples: shared.inserts!, remark: 'each committed alone' }],
  })
  figure(`runs of the function for each commit, ${where}`, [runs / commits], {
    unit: 'runs',
    target: { atMost: 1 },
  })
}

for (const [where, catalog] of [
  ['disk', disk],
  ['memory', memory],
] as const) {
  const server = await serve(catalog, { port: 0, auth: false, limits: { eventLoopDelay: 0 } })
  const remote = await openCatalog(server.url as `http://${string}`)
  // Rows as bytes: the types of row objects would be asked for with each insert.
  const { data } = await catalog.queryTable({ id: ['a'], limit: 1 })
  const add = (to: Pick<LocalCatalog, 'insertIntoTable'>, name: string) =>
    to.insertIntoTable({ id: [name], data })
  const repeated = (work: () => Promise<unknown>) => async () => {
    const taken = await milliseconds(async () => {
      for (let i = 0; i < repeats; i++) await work()
    })
    return taken / repeats
  }
  const inserts = await race(rounds, {
    transaction: repeated(() =>
      remote.transaction(async (tx) => {
        await add(tx, 'a')
        await add(tx, 'b')
      }),
    ),
    two: repeated(async () => {
      await add(remote, 'a')
      await add(remote, 'b')
    }),
  })
  figure(`transaction of two inserts over HTTP, ${where}`, inserts.transaction!, {
    unit: 'ms',
    against: [
      {
        peer: 'the two inserts over HTTP',
        samples: inserts.two!,
        as: 'cost',
        remark: 'two requests in place of four',
      },
    ],
  })
  await remote.close()
  await server.close()
}
await Promise.all([disk.close(), memory.close()])
