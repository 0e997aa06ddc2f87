/** What does an insert of five rows cost, on disk, in memory, and in PostgreSQL beside object storage? */
import { fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { open } from 'lmdb'
import { type LocalCatalog, openCatalog } from '../dist/tabularium/index.js'
import { missingPostgres, PostgresServer } from '../test/support/postgres.ts'
import { TcpProxy } from '../test/support/tcp-proxy.ts'
import type { Asked } from './support/arenas/s3-server.ts'
import { about, figure, report, type Target } from './support/figures.ts'
import { cpuTime, inTurn, race } from './support/measure.ts'
import { openDuckdb } from './support/peers/duckdb.ts'
import { lancedb } from './support/peers/lance-rows.ts'
import { pick, rounds } from './support/scale.ts'
import { newFolder } from './support/scratch.ts'
import { smallRows, smallRowsSql } from './support/small-rows.ts'

const times = pick(4, 24)
/** As many bytes as five rows of Arrow and their manifest take in records of the store. */
const recordBytes = 1_000

about(`Five rows of three columns, inserted one insert after the other into one table. On disk each insert is synced before
it is acknowledged, by all but LanceDB. One commit of lmdb puts five records of together about ${recordBytes} bytes and
syncs: the least that a durable insert takes. SQLite and DuckDB run a statement. Processor time is that of all threads of
the process. With PostgreSQL and object storage, proxies count what a warm insert asks of either.`)

/** Inserts five rows, whose first has this number. */
type Insert = (from: number) => Promise<unknown>

interface Conclusion {
  readonly headline?: string
  readonly own?: Target
  readonly targets?: Readonly<Record<string, Target>>
}

const remarks: Readonly<Record<string, string>> = {
  lmdb: 'durable too; five bare puts, nothing checked',
  lancedb: 'theirs is not synced to disk',
  DuckDB: 'durable too, when on disk; a statement of text',
  SQLite: 'durable too, when on disk; rows without versions',
}

const folder = newFolder('inserts')
let next = 0
const fresh = () => 5 * ++next

await onDisk()
await inMemory()
await overNetwork()
process.exit()

async function onDisk(): Promise<void> {
  const catalog = await openCatalog(join(folder, 'ours'))
  const lance = await lancedb().connect(join(folder, 'lance'))
  const table = await lance.createTable('t', smallRows(0))
  const { clock, processor } = await measured({
    ours: await inserting(catalog),
    lmdb: oneCommit(join(folder, 'raw.mdb')),
    lancedb: (from) => table.add(smallRows(from)),
    ...(await duckdbAt(join(folder, 'duckdb'))),
    ...(await sqliteAt(join(folder, 'rows.sqlite'))),
  })
  conclude('insert five rows, disk', clock, {
    headline: 'Insert five rows, durable',
    targets: { DuckDB: { atLeast: 1 } },
  })
  conclude('insert five rows, disk: processor time', processor, { own: { atMost: 1.6 } })
  await catalog.close()
}

async function inMemory(): Promise<void> {
  const catalog = await openCatalog('memory:')
  const { clock, processor } = await measured({
    ours: await inserting(catalog),
    ...(await duckdbAt(':memory:')),
    ...(await sqliteAt(':memory:')),
  })
  conclude('insert five rows, memory', clock, {})
  conclude('insert five rows, memory: processor time', processor, {})
  await catalog.close()
}

/** Trips to the database and requests to the bucket, of an insert by a catalog that has inserted before. */
async function overNetwork(): Promise<void> {
  if (missingPostgres !== undefined) throw new Error(missingPostgres)
  const server = await PostgresServer.start({ fsync: 'on' })
  const service = fork(fileURLToPath(new URL('./support/arenas/s3-server.ts', import.meta.url)))
  process.on('exit', () => service.kill())
  const [port] = (await once(service, 'message')) as [number]
  const requests = async () => {
    service.send('requests' satisfies Asked)
    const [sent] = (await once(service, 'message')) as [number]
    return sent
  }
  process.env.AWS_ACCESS_KEY_ID = 'bench'
  process.env.AWS_SECRET_ACCESS_KEY = 'bench'
  const content = `s3://bucket/rows?endpoint=${encodeURIComponent(`http://127.0.0.1:${port}`)}`
  const proxy = await TcpProxy.start(server.port, { counts: true })
  const url = (await server.freshUrl()).replace(`:${server.port}/`, `:${proxy.port}/`)
  const catalog = await openCatalog(url as `postgres://${string}`, { content })
  const insert = await inserting(catalog)
  const trips: number[] = []
  const asked: number[] = []
  for (let i = 0; i < 5; i++) {
    await requests()
    const before = proxy.trips
    await insert(fresh())
    trips.push(proxy.trips - before)
    asked.push(await requests())
  }
  report('insert five rows, PostgreSQL and object storage: trips', middle(trips), 'trips', { atMost: 1 })
  report('insert five rows, PostgreSQL and object storage: requests', middle(asked), 'requests', {
    atMost: 0,
  })
  const { clock, processor } = await measured({ ours: insert })
  conclude('insert five rows, PostgreSQL and object storage, through the counting proxy', clock, {})
  conclude('insert five rows, PostgreSQL and object storage: processor time', processor, {})
  await catalog.close()
  proxy.close()
  await server.stop()
}

function conclude(
  name: string,
  { ours, ...peers }: Record<string, number[]>,
  { headline, own, targets }: Conclusion,
): void {
  figure(name, ours!, {
    unit: 'ms',
    headline,
    target: own,
    against: Object.entries(peers).map(([peer, samples]) => ({
      peer,
      samples,
      remark: remarks[peer],
      target: targets?.[peer],
    })),
  })
}

/** Races inserts, by the clock and by processor time: milliseconds each. */
async function measured(contenders: Record<string, Insert>) {
  const processor: Record<string, number[]> = {}
  const clock = await race(
    rounds,
    Object.fromEntries(
      Object.entries(contenders).map(([who, insert]) => [
        who,
        async (round: number) => {
          const { took, used } = await cpuTime(() => inTurn(times, () => insert(fresh())))
          processor[who] ??= []
          if (round > 0) processor[who].push(used / times)
          return took / times
        },
      ]),
    ),
  )
  return { clock, processor }
}

/** Inserts often enough for the code to be compiled: an application runs for days. */
async function inserting(catalog: LocalCatalog): Promise<Insert> {
  await catalog.createTable({ id: ['t'], data: smallRows(0) })
  const insert: Insert = (from) => catalog.insertIntoTable({ id: ['t'], data: smallRows(from) })
  await inTurn(pick(10, 3_000), () => insert(fresh()))
  return insert
}

/** The least: the records of a small insert, in one commit. */
function oneCommit(path: string): Insert {
  const db = open({ path, encoding: 'binary', overlappingSync: false })
  return (from) =>
    db.childTransaction(() => {
      for (let i = 0; i < 5; i++) void db.put(['record', i, from], randomBytes(recordBytes / 5))
    })
}

async function duckdbAt(path: string): Promise<Record<string, Insert>> {
  try {
    const connection = await openDuckdb(path)
    await connection.run('CREATE TABLE t (id INTEGER, name VARCHAR, x DOUBLE)')
    return { DuckDB: (from) => connection.run(smallRowsSql('t', from)) }
  } catch (error) {
    console.error(`Without DuckDB: ${(error as Error).message}`)
    return {}
  }
}

async function sqliteAt(path: string): Promise<Record<string, Insert>> {
  try {
    const { default: Database } = await import('better-sqlite3')
    const db = new Database(path)
    if (path !== ':memory:') db.pragma('journal_mode = WAL')
    db.pragma(`synchronous = ${path === ':memory:' ? 'OFF' : 'FULL'}`)
    db.exec('CREATE TABLE t (id INTEGER, name TEXT, x REAL)')
    const insert = db.prepare('INSERT INTO t VALUES (?, ?, ?)')
    const all = db.transaction((rows: ReturnType<typeof smallRows>) => {
      for (const { id, name, x } of rows) insert.run(id, name, x)
    })
    return { SQLite: async (from) => all(smallRows(from)) }
  } catch (error) {
    console.error(`Without SQLite: ${(error as Error).message}`)
    return {}
  }
}

function middle(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[numbers.length >> 1]!
}
