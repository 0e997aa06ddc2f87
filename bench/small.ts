/** What do a thousand inserts of five rows leave behind, and what do counts and deletes over them cost? */
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { openCatalog } from '../dist/tabularium/index.js'
import { about, figure, report, type Target } from './support/figures.ts'
import { cpuTime, inTurn, microseconds, milliseconds, race } from './support/measure.ts'
import { openDuckdb } from './support/peers/duckdb.ts'
import { lancedb } from './support/peers/lance-rows.ts'
import { count, pick, rounds } from './support/scale.ts'
import { newFolder } from './support/scratch.ts'
import { smallRows, smallRowsSql } from './support/small-rows.ts'

const inserts = pick(100, 1_000)
/** LanceDB's inserts take longer the more there are. */
const lanceInserts = pick(20, 200)
const perInsert = 5
const repeats = pick(5, 20)
/** Calls on few rows, which take microseconds. */
const calls = pick(200, 1_000)

about(`${count(inserts)} inserts of ${perInsert} rows, one after the other, into one table of a catalog on disk, and as many
statements in DuckDB. What they leave is counted: files, and their bytes. Then counts by a predicate, queries and deletes of
one row take turns with those of a table that has the same rows in one fragment, with DuckDB's, and with LanceDB's after
${count(lanceInserts)} appends. No two predicates are alike, but those of the calls on a hundred rows, which are
repeated. DuckDB and we sync deletes, LanceDB does not. Memory is what is alive after a collection of garbage, of a
catalog whose cache is small enough to be full by then.`)

type Peer = 'optimized' | 'DuckDB' | 'lancedb'

const names: Record<Peer, string> = {
  optimized: 'the same rows in one fragment',
  DuckDB: 'DuckDB',
  lancedb: `lancedb after ${count(lanceInserts)} appends`,
}

/** What each contender does, by a number that is another one each time. */
interface Question {
  readonly ours: (i: number) => Promise<unknown>
  readonly peers: Partial<Record<Peer, (i: number) => Promise<unknown>>>
  readonly headline?: string
  readonly target?: Target
  readonly targets?: Partial<Record<Peer, Target>>
}

const folder = newFolder('small')
const directory = join(folder, 'ours')
let catalog = await openCatalog(directory)
const duckdb = await openDuckdb(join(folder, 'duckdb')).catch((error: Error) => {
  console.error(`Without DuckDB: ${error.message}`)
  return undefined
})
const lance = await (await lancedb().connect(join(folder, 'lance'))).createTable('t', smallRows(0))
let next = 0

await fill()
await level()
await leftovers()
await reads()
await few()
await deletes()
await reopened()
await catalog.close()
process.exit()

/** All of them, and the worst: an insert that fills a level merges it. */
async function fill(): Promise<void> {
  await catalog.createTable({ id: ['t'], data: smallRows(0) })
  const took: number[] = []
  const used = await cpuTime(() =>
    inTurn(inserts, async (i) => {
      took.push(
        await milliseconds(() =>
          catalog.insertIntoTable({ id: ['t'], data: smallRows((i + 1) * perInsert) }),
        ),
      )
    }),
  )
  figure(`one of ${count(inserts)} inserts`, took, {
    unit: 'ms',
    remark: `the worst took ${Math.max(...took).toFixed(1)} ms`,
  })
  report(`one of ${count(inserts)} inserts: processor time`, used.used / inserts, 'ms', { atMost: 1.6 })
  await duckdb?.run('CREATE TABLE t (id INTEGER, name VARCHAR, x DOUBLE)')
  await inTurn(inserts + 1, async (i) => duckdb?.run(smallRowsSql('t', i * perInsert)))
  await inTurn(lanceInserts, (i) => lance.add(smallRows((i + 1) * perInsert)))
}

/** What as many inserts again add to the memory, when the cache is full. */
async function level(): Promise<void> {
  await using small = await openCatalog(join(folder, 'level'), { cacheBytes: 2 * 1024 ** 2 })
  await small.createTable({ id: ['t'], data: smallRows(0) })
  const alive: number[] = []
  // The code is compiled in the first of them, and the cache is filled.
  for (let part = 0; part < 3; part++) {
    await inTurn(inserts, (i) => small.insertIntoTable({ id: ['t'], data: smallRows(i * perInsert) }))
    alive.push(aliveBytes())
  }
  report(`memory that ${count(inserts)} more inserts add`, (alive[2]! - alive[1]!) / 1e6, 'MB', { atMost: 1 })
}

/** What lies on disk, before and after the catalog is closed. */
async function leftovers(): Promise<void> {
  const { files, bytes } = contentsOf(directory)
  report(`files after ${count(inserts)} inserts`, files, 'files', { atMost: 250 })
  report(`bytes after ${count(inserts)} inserts`, bytes / 1e6, 'MB', { atMost: 8 })
  const theirs = contentsOf(join(folder, 'lance'))
  report(`files of LanceDB after ${count(lanceInserts)} appends`, theirs.files, 'files')
  report(`bytes of LanceDB after ${count(lanceInserts)} appends`, theirs.bytes / 1e6, 'MB')
}

async function reads(): Promise<void> {
  await catalog.createTable({ id: ['whole'], data: smallRows(0, (inserts + 1) * perInsert) })
  const counted = (name: string) => (i: number) =>
    catalog.countTableRows({ id: [name], predicate: `x > ${i / 1e6}` })
  await expectAlike()
  await ask('count by predicate', {
    headline: `Count over ${count(inserts)} small inserts`,
    ours: counted('t'),
    peers: {
      optimized: counted('whole'),
      ...(duckdb && { DuckDB: (i) => duckdb.runAndReadAll(`SELECT count(*) FROM t WHERE x > ${i / 1e6}`) }),
      lancedb: (i) => lance.countRows(`x > ${i / 1e6}`),
    },
    targets: { optimized: { atMost: 3 } },
  })
  const key = (i: number) => (i * 77) % (lanceInserts * perInsert)
  const found = (name: string) => (i: number) =>
    catalog.queryTable({ id: [name], filter: `id = ${key(i)}`, k: 5 })
  await ask('query of one key', {
    ours: found('t'),
    peers: {
      optimized: found('whole'),
      ...(duckdb && {
        DuckDB: async (i) => (await duckdb.runAndReadAll(`SELECT * FROM t WHERE id = ${key(i)}`)).getRows(),
      }),
      lancedb: (i) =>
        lance
          .query()
          .where(`id = ${key(i)}`)
          .limit(5)
          .toArray(),
    },
  })
}

/** The same count and the same query again and again, of a hundred rows: what a call costs besides its rows. */
async function few(): Promise<void> {
  await catalog.createTable({ id: ['few'], data: smallRows(0, 100) })
  await duckdb?.run('CREATE TABLE few AS SELECT * FROM t WHERE id < 100')
  const counted = () => catalog.countTableRows({ id: ['few'], predicate: 'x > 3' })
  const found = () => catalog.queryTable({ id: ['few'], filter: 'id = 7', k: 5 })
  // V8 compiles what such a call runs through after some thousand calls.
  for (const work of [counted, found]) await inTurn(10 * calls, work)
  const each = (work: () => Promise<unknown>) => () => microseconds(calls, () => inTurn(calls, work))
  const took = await race(rounds, {
    count: each(counted),
    query: each(found),
    ...(duckdb && {
      countInDuckdb: each(() => duckdb.runAndReadAll('SELECT count(*) FROM few WHERE x > 3')),
      queryInDuckdb: each(() => duckdb.runAndReadAll('SELECT * FROM few WHERE id = 7')),
    }),
  })
  const against = (samples: number[] | undefined) => (samples ? [{ peer: 'DuckDB', samples }] : [])
  const target = { atMost: 12 }
  figure('count 100 rows by predicate', took.count!, {
    unit: 'µs',
    target,
    against: against(took.countInDuckdb),
  })
  figure('query one key of 100 rows', took.query!, {
    unit: 'µs',
    target,
    against: against(took.queryInDuckdb),
  })
}

/** Both tables must have the same rows, or the figures mean nothing. */
async function expectAlike(): Promise<void> {
  const predicate = 'x > 1.5'
  const [many, one] = await Promise.all(
    ['t', 'whole'].map((name) => catalog.countTableRows({ id: [name], predicate })),
  )
  const expected = (inserts + 1) * (perInsert - 2)
  if (many!.count !== expected || one!.count !== expected) {
    throw new Error(`${many!.count} and ${one!.count} rows were counted in place of ${expected}.`)
  }
}

async function deletes(): Promise<void> {
  const deleted = (name: string) => (i: number) =>
    catalog.deleteFromTable({ id: [name], predicate: `id = ${i % (inserts * perInsert)}` })
  await ask('delete one row', {
    ours: deleted('t'),
    target: { atMost: 3 },
    peers: {
      optimized: deleted('whole'),
      ...(duckdb && {
        DuckDB: (i) => duckdb.run(`DELETE FROM t WHERE id = ${i % (inserts * perInsert)}`),
      }),
      lancedb: (i) => lance.delete(`id = ${i % (lanceInserts * perInsert)}`),
    },
  })
  const updated = (name: string) => (i: number) =>
    catalog.updateTable({
      id: [name],
      predicate: `id = ${(inserts * perInsert) >> 1}`,
      updates: [['x', String(i)]],
    })
  await ask('update one row', {
    ours: updated('t'),
    peers: {
      optimized: updated('whole'),
      ...(duckdb && {
        DuckDB: (i) => duckdb.run(`UPDATE t SET x = ${i} WHERE id = ${(inserts * perInsert) >> 1}`),
      }),
    },
  })
}

/** The first count of a process: nothing is known. */
async function reopened(): Promise<void> {
  const first = async (name: string) => {
    await catalog.close()
    return milliseconds(async () => {
      catalog = await openCatalog(directory)
      await catalog.countTableRows({ id: [name], predicate: `x > ${next++ / 1e6}` })
    })
  }
  const took = await race(rounds, { many: () => first('t'), whole: () => first('whole') })
  figure('open the catalog and count once', took.many!, {
    unit: 'ms',
    against: [{ peer: 'the same rows in one fragment', samples: took.whole!, as: 'cost' }],
  })
}

async function ask(title: string, { ours, peers, headline, target, targets }: Question): Promise<void> {
  const each = (work: (i: number) => Promise<unknown>) => async () =>
    (await milliseconds(() => inTurn(repeats, () => work(next++)))) / repeats
  const took = await race(
    rounds,
    Object.fromEntries(Object.entries({ ours, ...peers }).map(([who, work]) => [who, each(work)])),
  )
  figure(`${title}, ${count(inserts)} inserts`, took.ours!, {
    unit: 'ms',
    headline,
    target,
    against: (Object.keys(peers) as Peer[]).map((peer) => ({
      peer: names[peer],
      samples: took[peer]!,
      as: peer === 'optimized' ? 'cost' : 'speed',
      target: targets?.[peer],
      ...(peer === 'lancedb' && { remark: 'fewer rows; deletes are not synced to disk', aside: true }),
    })),
  })
}

function contentsOf(path: string): { files: number; bytes: number } {
  const found = readdirSync(path, { withFileTypes: true, recursive: true }).filter((entry) => entry.isFile())
  const sizes = found.map(({ parentPath, name }) => statSync(join(parentPath, name)).size)
  return { files: found.length, bytes: sizes.reduce((sum, size) => sum + size, 0) }
}

function aliveBytes(): number {
  globalThis.gc?.()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}
