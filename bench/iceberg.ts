/** How fast is Iceberg REST, beside the reference server in Java? */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { icebergRest } from '../dist/iceberg/index.js'
import { serve } from '../dist/server/index.js'
import { openCatalog } from '../dist/tabularium/index.js'
import { startReference, untilReady } from '../test/iceberg/clients/reference-server.ts'
import { freePort } from '../test/support/free-port.ts'
import { about, figure, report, type Target } from './support/figures.ts'
import { Committer, createTable, IcebergClient } from './support/iceberg-client.ts'
import { inFlight, milliseconds, race } from './support/measure.ts'
import { grewElsewhere, peakOf, watched } from './support/memory.ts'
import { count, isShort, pick } from './support/scale.ts'
import { newFolder } from './support/scratch.ts'

const callers = 8
const rounds = pick(2, 6)
const commits = pick(40, 400)
const loads = pick(200, 2_000)
const listed = isShort ? 2_000 : pick(500, 10_000)
const lists = 16
/** Parts of the question that are asked, by their first letters; all without the variable. */
const only = process.env.ONLY ?? ''
const titles = { disk: 'on disk', memory: 'in memory', java: 'the reference server' } as const
const remark = 'it syncs its database, and no metadata file'

if (process.argv[2] === 'serve') await serveOurs(process.argv[3]!)
else await main()

interface Side {
  readonly child: ChildProcess
  readonly client: IcebergClient
}

type Name = 'disk' | 'memory' | 'java'
type Sides = Readonly<Record<Name, Side>>

async function main(): Promise<void> {
  about(`A catalog on disk, and one in memory, beside the server of Iceberg's own compatibility kit
(RESTCatalogServer, Java, over SQLite); each in a process of its own, with ${callers} requests under way, which come from this
machine too. Metadata files lie in local folders, those of the catalog in memory in memory. A commit appends a snapshot: it requires the newest one to be its parent. Who
is refused loads the table and tries again, as clients do. Each round has new tables, so that metadata is of one size.
Ours keeps a list until something changes; lists after a change are measured apart.`)
  const sides: Sides = {
    disk: await startOurs(join(newFolder('iceberg-disk'), 'catalog')),
    memory: await startOurs('memory:'),
    java: await startJava(),
  }
  try {
    for (const { client } of Object.values(sides))
      await client.get('POST', 'namespaces', { namespace: ['ns'] })
    const parts = {
      many: () => commitsOn(sides, `${callers} committers on ${callers} tables`, String),
      one: () => commitsOn(sides, `${callers} committers on one table`, () => 'shared'),
      loads: () => loadsOf(sides),
      lists: () => listsOf(sides),
    }
    for (const [name, part] of Object.entries(parts)) if (name.startsWith(only)) await part()
    for (const [name, { child }] of Object.entries(sides))
      report(
        `memory at most: ${titles[name as Name]}`,
        Math.round((peakOf(child.pid!) ?? Number.NaN) / 1e6),
        'MB',
      )
  } finally {
    for (const { child, client } of Object.values(sides)) {
      client.close()
      child.kill('SIGKILL')
    }
  }
}

interface Race {
  readonly times: number
  /** What is not measured. */
  readonly prepare?: (side: Side, round: number) => Promise<void>
  /** Answers with the milliseconds of each of `times` requests. */
  readonly run: (side: Side, round: number) => Promise<number[]>
}

/** Races the sides, and tells what they do a second, and how long one of them takes. */
async function compare(sides: Sides, what: string, { times, run, prepare }: Race): Promise<void> {
  const took: Record<Name, { p50: number[]; p99: number[] }> = {
    disk: { p50: [], p99: [] },
    memory: { p50: [], p99: [] },
    java: { p50: [], p99: [] },
  }
  const contender = (name: Name) => async (round: number) => {
    let each: number[] = []
    await prepare?.(sides[name], round)
    // What works is the server, and this process only asks.
    const { value: millis, grew } = await watched(
      () =>
        milliseconds(async () => {
          each = await run(sides[name], round)
        }),
      sides[name].child.pid,
    )
    grewElsewhere(grew)
    each.sort((a, b) => a - b)
    if (round > 0) {
      took[name].p50.push(each[Math.floor(each.length * 0.5)]!)
      took[name].p99.push(each[Math.min(each.length - 1, Math.floor(each.length * 0.99))]!)
    }
    return (times * 1_000) / millis
  }
  const perSecond = await race(
    rounds,
    { disk: contender('disk'), memory: contender('memory'), java: contender('java') },
    120_000,
  )
  for (const name of ['disk', 'memory'] as const) {
    const target: Target = { atLeast: 5, group: 'Iceberg REST against the reference server' }
    figure(`${what}, ${titles[name]}: a second`, perSecond[name]!, {
      unit: '/s',
      better: 'more',
      against: [{ peer: titles.java, samples: perSecond.java!, target, remark }],
    })
    for (const part of ['p50', 'p99'] as const)
      figure(`${what}, ${titles[name]}: ${part}`, took[name][part], {
        unit: 'ms',
        against: [{ peer: titles.java, samples: took.java[part] }],
      })
  }
}

async function commitsOn(sides: Sides, what: string, tableOf: (who: number) => string): Promise<void> {
  const kind = what.replaceAll(/\W+/g, '_')
  const namesIn = (round: number) =>
    Array.from({ length: callers }, (_, who) => `${kind}_${round}_${tableOf(who)}`)
  await compare(sides, what, {
    times: commits,
    prepare: async ({ client }, round) => {
      for (const name of new Set(namesIn(round))) await createTable(client, 'ns', name)
    },
    run: async ({ client }, round) => {
      const each: number[] = []
      await Promise.all(
        namesIn(round).map(async (name) => {
          const committer = new Committer(client, 'ns', name)
          for (let i = 0; i < commits / callers; i++) each.push(await milliseconds(() => committer.append()))
        }),
      )
      return each
    },
  })
}

async function loadsOf(sides: Sides): Promise<void> {
  for (const { client } of Object.values(sides)) {
    await createTable(client, 'ns', 'loaded')
    const committer = new Committer(client, 'ns', 'loaded')
    for (let i = 0; i < 10; i++) await committer.append()
  }
  await compare(sides, 'load a table with 10 snapshots', {
    times: loads,
    run: async ({ client }) => {
      const each: number[] = []
      await inFlight(loads, callers, async () => {
        each.push(await milliseconds(() => client.get('GET', 'namespaces/ns/tables/loaded')))
      })
      return each
    },
  })
}

async function listsOf(sides: Sides): Promise<void> {
  const created = { disk: 0, memory: 0, java: 0 }
  for (const [name, { client }] of Object.entries(sides)) {
    await client.get('POST', 'namespaces', { namespace: ['many'] })
    created[name as Name] = await milliseconds(() =>
      inFlight(listed, callers, (i) => createTable(client, 'many', `t${i}`)),
    )
  }
  for (const name of ['disk', 'memory'] as const)
    figure(`create ${count(listed)} tables, ${titles[name]}`, [created[name] / 1_000], {
      unit: 's',
      against: [{ peer: titles.java, samples: [created.java / 1_000], target: { atLeast: 5 }, remark }],
    })
  const list = (client: IcebergClient) =>
    milliseconds(async () => {
      const { identifiers } = JSON.parse(await client.get('GET', 'namespaces/many/tables'))
      if (identifiers.length !== listed) throw new Error(`${identifiers.length} tables were listed.`)
    })
  await compare(sides, `list ${count(listed)} tables`, {
    times: lists,
    run: async ({ client }) => {
      const each: number[] = []
      await inFlight(lists, callers, async () => {
        each.push(await list(client))
      })
      return each
    },
  })
  await compare(sides, `list ${count(listed)} tables after a change`, {
    times: 1,
    prepare: async ({ client }, round) => {
      await client.get('POST', 'namespaces', { namespace: [`changed ${round}`] })
    },
    run: async ({ client }) => [await list(client)],
  })
}

async function startOurs(location: string): Promise<Side> {
  const child = fork(fileURLToPath(import.meta.url), ['serve', location])
  const [url] = (await once(child, 'message')) as [string]
  return { child, client: new IcebergClient(`${url}/iceberg`) }
}

async function startJava(): Promise<Side> {
  const folder = newFolder('iceberg-java')
  const warehouse = join(folder, 'warehouse')
  mkdirSync(warehouse)
  const port = await freePort()
  const child = await startReference(folder, warehouse, port)
  const url = `http://127.0.0.1:${port}`
  await untilReady(url, child)
  return { child, client: new IcebergClient(url) }
}

async function serveOurs(location: string): Promise<void> {
  const catalog = await openCatalog(location)
  const server = await serve(catalog, { auth: false, port: 0, mounts: [icebergRest(catalog)] })
  process.on('disconnect', () => process.exit())
  process.send!(server.url)
}
