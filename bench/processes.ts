/** What do several processes reach on one catalog? */
import { cpus } from 'node:os'
import { join } from 'node:path'
import { type Arena, openArena } from './support/arena.ts'
import { about, chart, figure } from './support/figures.ts'
import { microseconds, race, type Spread, spread } from './support/measure.ts'
import { openRawLmdb } from './support/peers/raw-lmdb.ts'
import { openSqlite } from './support/peers/sqlite.ts'
import { count, pick, rounds } from './support/scale.ts'
import { newFolder } from './support/scratch.ts'
import { seededDirectory, tableNames } from './support/seed.ts'

const size = pick(1_000, 100_000)
const processes = [1, 2, 4]

about(`One to four processes on one catalog of ${count(size)} tables on disk, 64 operations in flight in each; the
time of one is the time all took, divided by the operations all did. This machine has ${cpus().length} cores.
Every change is synced before it is acknowledged; better-sqlite3 is synchronous and syncs each by itself.`)

const remarks: Record<string, string> = {
  lmdb: 'durable too; the bare puts or gets, nothing checked',
  'sqlite FULL': 'durable too; nothing checked, one commit each',
}

const folder = newFolder('processes')
const directory = await seededDirectory(size)
await seedPeers()
const arenas: Arena[] = []
const curves: Record<string, ({ x: number } & Spread)[]> = {}
try {
  for (const so of processes) {
    while (arenas.length < so) {
      arenas.push(await openArena('processes', directory, folder, String(arenas.length), String(size)))
    }
    for (const what of ['describe', 'declare']) await ask(what, so)
  }
} finally {
  for (const arena of arenas) await arena.close()
}
for (const what of ['describe', 'declare']) {
  chart({
    id: `processes-${what}`,
    title: `${what === 'declare' ? 'Durable declares' : 'Describes'} from several processes`,
    x: 'processes',
    y: 'µs each',
    points: ['ours', ...Object.keys(remarks)].flatMap((who) =>
      (curves[`${who}/${what}`] ?? []).map((point) => ({ series: who, ...point })),
    ),
  })
}

async function ask(what: string, so: number): Promise<void> {
  const times = what === 'declare' ? pick(256, 1_280) : pick(1_000, 10_000)
  const mine = [...arenas[0]!.contenders].filter((name) => name.endsWith(`/${what}`))
  const all = (contender: string) => () =>
    microseconds(times * so, () =>
      Promise.all(arenas.slice(0, so).map((arena) => arena.run(contender, times))),
    )
  const measured = await race(rounds, Object.fromEntries(mine.map((name) => [name, all(name)])))
  for (const [name, samples] of Object.entries(measured)) {
    curves[name] ??= []
    curves[name].push({ x: so, ...spread(samples) })
  }
  figure(`${what}, ${so} ${so === 1 ? 'process' : 'processes'}`, measured[`ours/${what}`]!, {
    unit: 'µs',
    against: Object.keys(remarks)
      .filter((peer) => `${peer}/${what}` in measured)
      .map((peer) => ({ peer, samples: measured[`${peer}/${what}`]!, remark: remarks[peer] })),
  })
}

async function seedPeers(): Promise<void> {
  const names = tableNames(size)
  const lmdb = openRawLmdb(join(folder, 'raw.mdb'))
  await lmdb.fill(names)
  await lmdb.close()
  try {
    const sqlite = await openSqlite(join(folder, 'catalog.sqlite'), 'full')
    sqlite.declareAll(names)
    sqlite.close()
  } catch {
    // The processes tell.
  }
}
