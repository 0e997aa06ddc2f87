/** What do many machines reach on one catalog in PostgreSQL, and what does the distance to it cost? */
import { type LocalCatalog as Catalog, openCatalog } from '../dist/tabularium/index.js'
import { keys, recordFormat, rootId, type StoredTable } from '../src/base/store/records.ts'
import { openPostgresStore } from '../src/stores/postgres/index.ts'
import { missingPostgres, PostgresServer } from '../test/support/postgres.ts'
import { TcpProxy } from '../test/support/tcp-proxy.ts'
import { type Arena, openArena } from './support/arena.ts'
import { distantProxy } from './support/distant-proxy.ts'
import { about, figure, report, type Target } from './support/figures.ts'
import { milliseconds, race } from './support/measure.ts'
import { count, pick, rounds } from './support/scale.ts'
import { newFolder } from './support/scratch.ts'

const callers = 32
const described = 64
const servers = [1, 2, 4]
/** What they are asked to do. */
const asked = [
  'declare',
  'describe',
  'commit on many',
  'commit on one',
  'record on many',
  'record on one',
] as const
/** The figures with a target of their own. */
const own: Readonly<Record<string, Target>> = {
  'commit on many, 1': { atLeast: 0.8 },
  'record on one, 4': { atLeast: 0.6 },
}
const times = pick(32, 256)
const largest = pick(10_000, 1_000_000)

about(`Up to four servers of one catalog, each a process of its own with ${callers} operations in flight, on a machine that also
runs the database. The database syncs each commit. Bare statements are sent by as many processes and callers, prepared, by the
driver pg, over 16 connections each: an INSERT of the three records of a declaration, a SELECT of the two of a
description, an INSERT of two and an UPDATE of one for a commit. They know nothing of names that are taken, nor of what others do. A commit
changes the metadata of a table's schema: it writes a manifest to a local folder and makes a version. So each bare statement
of a commit comes after a file of 2 KiB in the table's folder. The file is written and synced, and its name too. All of them are at once, while each commit on one table needs
the one before it. To record a version is a commit as Lance's writers make it, who write the manifest themselves: the
catalog refuses all but the next version, and tells the next one to those whom it refuses. Servers that share a table come
in a row. The bare statement of it is that of a commit, without a file. A distance is added by a
proxy, on the way to the database. Trips are counted by another one.`)

if (missingPostgres !== undefined) throw new Error(missingPostgres)
const server = await PostgresServer.start({ fsync: 'on', max_connections: '200' })
/** Parts of the question that are asked, by their first letters; all without the variable. */
const only = process.env.ONLY ?? ''
/** A folder for the rows of one catalog. */
const freshContent = () => `file://${newFolder('machines')}`

for (const part of [throughput, distances, millions]) if (part.name.startsWith(only)) await part()
await server.stop()
process.exit()

async function seed(location: string, options: { readonly content?: string }): Promise<void> {
  await using catalog = await openCatalog(location, options)
  await catalog.createNamespace({ id: ['prod'] })
  for (let i = 0; i < described; i++) await catalog.declareTable({ id: ['prod', `d${i}`] })
  const tables = ['shared']
  for (let who = 0; who < servers.at(-1)!; who++) {
    for (let i = 0; i < callers; i++) tables.push(`${who}-${i}`)
  }
  await Promise.all(
    tables.map((name) => catalog.createTable({ id: ['prod', `rows-${name}`], data: [{ x: 1 }] })),
  )
  await Promise.all(tables.map((name) => catalog.declareTable({ id: ['prod', `versions-${name}`] })))
}

/** Operations a second by one, two and four servers, beside the same in a directory and beside bare statements. */
async function throughput(): Promise<void> {
  const location = await server.freshUrl()
  const content = freshContent()
  const directory = newFolder('machines-lmdb')
  await seed(location, { content })
  await seed(directory, {})
  await server.query(
    'CREATE TABLE bare (key bytea PRIMARY KEY, value text NOT NULL, version bigint NOT NULL)',
  )
  const sides = { ours: [] as Arena[], lmdb: [] as Arena[], bare: [] as Arena[] }
  try {
    for (const so of servers) {
      while (sides.ours.length < so) {
        const who = String(sides.ours.length)
        const more = [String(callers), String(described)]
        sides.ours.push(await openArena('servers', location, content, who, ...more))
        sides.lmdb.push(await openArena('servers', directory, '', who, ...more))
        sides.bare.push(await openArena('statements', server.url(), who, ...more))
      }
      for (const what of asked) {
        await askAll(sides, what, so)
      }
    }
  } finally {
    for (const arena of Object.values(sides).flat()) await arena.close()
  }
}

async function askAll(
  sides: Record<'ours' | 'lmdb' | 'bare', Arena[]>,
  what: (typeof asked)[number],
  so: number,
): Promise<void> {
  // Enough for the code of each side to be compiled: a server runs for days.
  const each = what === 'describe' || what.startsWith('commit') ? times * 8 : times
  const rate = (arenas: Arena[], asked: string) => async () => {
    const took = await milliseconds(() =>
      Promise.all(arenas.slice(0, so).map((arena) => arena.run(asked, each))),
    )
    return (so * each * 1000) / took
  }
  // A commit writes a file, and a record of a version none.
  const bare = what.startsWith('commit') ? `${what} with files` : what.replace('record', 'commit')
  const measured = await race(
    pick(2, 4),
    {
      ours: rate(sides.ours, what),
      lmdb: rate(sides.lmdb, what),
      bare: rate(sides.bare, bare),
    },
    8_000,
  )
  const shared = { atLeast: 0.5, group: 'operations a second against bare statements' }
  const target = own[`${what}, ${so}`] ?? shared
  figure(`${what}, ${so} ${so === 1 ? 'server' : 'servers'}`, measured.ours!, {
    unit: '/s',
    better: 'more',
    against: [
      {
        peer: what.startsWith('commit') ? 'bare statements and files' : 'bare statements',
        samples: measured.bare!,
        as: 'speed',
        target,
      },
      { peer: 'the same in a directory', samples: measured.lmdb!, as: 'speed' },
    ],
  })
}

/** What one operation takes when the database is so many milliseconds away. */
async function distances(): Promise<void> {
  const direct = await server.freshUrl()
  const content = freshContent()
  await seed(direct, { content })
  await tripsOf(direct, content)
  for (const delay of [0, 1, 10]) {
    const proxy = await distantProxy(server.port, delay)
    const catalog = await openCatalog(through(direct, proxy.port), { content })
    const operations = await operationsOn(catalog, `at${delay}`)
    for (const work of Object.values(operations)) await work()
    const took = await race(
      rounds,
      Object.fromEntries(Object.entries(operations).map(([name, work]) => [name, () => milliseconds(work)])),
    )
    for (const name of Object.keys(operations)) {
      figure(`${name}, ${delay} ms away`, took[name]!, { unit: 'ms' })
    }
    await catalog.close()
    proxy.close()
  }
}

/** Operations as one of many callers does them, on tables of its own. */
async function operationsOn(catalog: Catalog, mark: string): Promise<Record<string, () => Promise<unknown>>> {
  let next = 0
  let name = `${mark}-first`
  await catalog.declareTable({ id: ['prod', name] })
  return {
    describe: () => catalog.describeTable({ id: ['prod', 'd1'] }),
    'list 100': () => catalog.listTables({ id: ['prod'], limit: 100 }),
    declare: () => catalog.declareTable({ id: ['prod', `${mark}-${next++}`] }),
    rename: () => {
      const from = name
      name = `${mark}-renamed-${next++}`
      return catalog.renameTable({ id: ['prod', from], new_table_name: name })
    },
    'batch of 100': () =>
      catalog.batchCommitTables({
        operations: Array.from({ length: 100 }, () => ({
          declare_table: { id: ['prod', `${mark}-${next++}`] },
        })),
      }),
    insert: () => catalog.insertIntoTable({ id: ['prod', 'rows-shared'], data: [{ x: next++ }] }),
  }
}

/** The round trips of each operation, by a catalog that has done it before. */
async function tripsOf(location: string, content: string): Promise<void> {
  const proxy = await TcpProxy.start(server.port, { counts: true })
  await using catalog = await openCatalog(through(location, proxy.port), { content })
  for (const [name, work] of Object.entries(await operationsOn(catalog, 'trips'))) {
    await work()
    const before = proxy.trips
    await work()
    report(`${name}, warm`, proxy.trips - before, 'trips')
  }
  proxy.close()
}

/** What a catalog of a million tables takes to open, page and describe, beside one of a thousand. */
async function millions(): Promise<void> {
  const found: Record<string, number[]> = {}
  for (const size of [1_000, largest]) {
    const location = await server.freshUrl()
    await fill(location, size)
    const proxy = await TcpProxy.start(server.port, { counts: true })
    const url = through(location, proxy.port)
    const trips = async (name: string, work: () => Promise<unknown>) => {
      const before = proxy.trips
      await work()
      found[name] ??= []
      found[name].push(proxy.trips - before)
    }
    let catalog!: Catalog
    await trips('open', async () => {
      catalog = await openCatalog(url)
    })
    const middle = `t${String(size >> 1).padStart(7, '0')}`
    await trips('describe, cold', () => catalog.describeTable({ id: ['prod', middle] }))
    await trips('describe, warm', () => catalog.describeTable({ id: ['prod', middle] }))
    let page: string | null | undefined
    await trips('first page of 100', async () => {
      page = (await catalog.listTables({ id: ['prod'], limit: 100 })).page_token
    })
    await trips('second page of 100', () =>
      catalog.listTables({ id: ['prod'], limit: 100, page_token: page ?? '' }),
    )
    await catalog.close()
    proxy.close()
  }
  for (const [name, [few, many]] of Object.entries(found)) {
    const target = { atMost: 1, group: `trips at ${count(largest)} tables against 1,000` }
    figure(`${name}, ${count(largest)} tables`, [many!], {
      unit: 'trips',
      against: [{ peer: '1,000 tables', samples: [few!], as: 'cost', target }],
    })
  }
}

/** Puts the records of declared tables, as many as one commit takes at a time. */
async function fill(location: string, size: number): Promise<void> {
  const store = await openPostgresStore(location)
  const catalog = await openCatalog({ store, content: freshContent() })
  await catalog.createNamespace({ id: ['prod'] })
  const parent = await store.read((reader) => reader.get<string>(keys.namespaceName(rootId, 'prod'))!)
  const time = Date.now()
  for (let from = 0; from < size; from += 5_000) {
    await store.write((writer) => {
      for (let i = from; i < Math.min(size, from + 5_000); i++) {
        const name = `t${String(i).padStart(7, '0')}`
        const id = `bench${name}`
        writer.put(keys.table(parent, name), { v: recordFormat, id, created_at: time } satisfies StoredTable)
        writer.put(keys.tablePointer(id), [parent, name])
      }
    })
  }
  await catalog.close()
  await server.query('VACUUM ANALYZE')
}

/** The location of the same catalog by another port. */
function through(location: string, port: number): `postgres://${string}` {
  return location.replace(`:${server.port}/`, `:${port}/`) as `postgres://${string}`
}
