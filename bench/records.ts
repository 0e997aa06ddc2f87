/** How many bytes does a change leave on disk and in memory, beside bare records? */
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { type LocalCatalog, openCatalog } from '../dist/tabularium/index.js'
import { about, figure, report } from './support/figures.ts'
import { inFlight } from './support/measure.ts'
import { openRawLmdb } from './support/peers/raw-lmdb.ts'
import { openSqlite } from './support/peers/sqlite.ts'
import { count, pick } from './support/scale.ts'
import { newFolder } from './support/scratch.ts'

const changes = pick(2_000, 20_000)
const atOnce = 64
/** What a declaration left on disk on 2026-11-24, with a record of the change and another one of its entry in the feed. */
const earlierBytes = 861

about(`${count(changes)} changes of each kind, ${atOnce} under way at once, and by how much the files of the catalog grow. Each
change is kept in the feed and as a transaction. The peers keep neither. Bare lmdb puts two records for a declaration, as
JSON; SQLite a row. The second half of as many changes is measured, so that what is there once does not count.`)

const folder = newFolder('records')
let next = 0
const name = () => `t${next++}`

await declarations()
await others()
await inMemory()
process.exit()

async function declarations(): Promise<void> {
  const catalog = await openCatalog(join(folder, 'ours'))
  await catalog.createNamespace({ id: ['ns'] })
  const ours = await growth(join(folder, 'ours'), () => catalog.declareTable({ id: ['ns', name()] }))
  await catalog.close()
  const raw = openRawLmdb(join(folder, 'raw.mdb'))
  const theirs = await growth(join(folder, 'raw.mdb'), () => raw.declare(name()))
  await raw.close()
  figure('bytes on disk of a declaration', [ours], {
    unit: 'B',
    target: { atMost: 0.6 * earlierBytes },
    remark: `six tenths of ${earlierBytes}, which it left with two records of each change`,
    against: [
      { peer: 'lmdb', samples: [theirs], as: 'cost', remark: 'the bare two records' },
      ...(await ofSqlite()),
    ],
  })
}

async function ofSqlite() {
  try {
    const path = join(folder, 'catalog.sqlite')
    const sqlite = await openSqlite(path, 'normal')
    const bytes = await growth(path, async () => sqlite.declare(name()))
    sqlite.close()
    return [{ peer: 'SQLite', samples: [bytes], as: 'cost' as const, remark: 'a row; by its file alone' }]
  } catch (error) {
    console.error(`Without SQLite: ${(error as Error).message}`)
    return []
  }
}

async function others(): Promise<void> {
  const path = join(folder, 'others')
  const catalog = await openCatalog(path)
  await catalog.createTable({ id: ['t'], data: [{ k: 1 }] })
  for (const [what, change] of Object.entries(changesOf(catalog))) {
    report(`bytes on disk of a change: ${what}`, await growth(path, change), 'B')
  }
  await catalog.close()
}

function changesOf(catalog: LocalCatalog): Record<string, () => Promise<unknown>> {
  return {
    'create a namespace': () => catalog.createNamespace({ id: [name()] }),
    'create a tag': () => catalog.createTableTag({ id: ['t'], tag: name(), version: 1 }),
    'declare a table and drop it': async () => {
      const id = [name()]
      await catalog.declareTable({ id })
      await catalog.dropTable({ id })
    },
  }
}

/** What is alive after a collection of garbage, for each table in memory with its change. */
async function inMemory(): Promise<void> {
  const catalog = await openCatalog('memory:')
  const alive = async () => {
    await inFlight(changes, atOnce, () => catalog.declareTable({ id: [name()] }))
    globalThis.gc?.()
    return process.memoryUsage().heapUsed
  }
  const half = await alive()
  report('bytes in memory of a declaration', ((await alive()) - half) / changes, 'B')
  await catalog.close()
}

/** By how many bytes a file or a folder grows for each change, in the second half of them. */
async function growth(path: string, change: () => Promise<unknown>): Promise<number> {
  await inFlight(changes, atOnce, change)
  const half = bytesOf(path)
  await inFlight(changes, atOnce, change)
  return (bytesOf(path) - half) / changes
}

function bytesOf(path: string): number {
  const entry = statSync(path)
  if (entry.isFile()) return entry.size
  return readdirSync(path).reduce((sum, name) => sum + bytesOf(join(path, name)), 0)
}
