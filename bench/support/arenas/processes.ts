import { join } from 'node:path'
import { openCatalog } from '../../../dist/tabularium/index.js'
import { type Runner, serveArena } from '../arena.ts'
import { inFlight, microseconds } from '../measure.ts'
import { openRawLmdb } from '../peers/raw-lmdb.ts'
import { openSqlite } from '../peers/sqlite.ts'
import { scattered, tableName } from '../seed.ts'

/* One of several processes on the same catalogs; each declares tables of its own. */

const [directory, folder, process_, sizeGiven] = process.argv.slice(2) as [string, string, string, string]
const size = Number(sizeGiven)
let next = 0
const fresh = () => `p${process_}-${Date.now() % 1_000_000_000}-${next++}`
const any = (i: number) => tableName(scattered(i + Number(process_), size))
const many =
  (work: (i: number) => unknown): Runner =>
  (times) =>
    microseconds(times, () => inFlight(times, 64, async (i) => work(i)))

const catalog = await openCatalog(directory)
const lmdb = openRawLmdb(join(folder, 'raw.mdb'))
const contenders: Record<string, Runner> = {
  'ours/declare': many(() => catalog.declareTable({ id: ['ns', fresh()] })),
  'ours/describe': many((i) => catalog.describeTable({ id: ['ns', any(i)] })),
  'lmdb/declare': many(() => lmdb.declare(fresh())),
  'lmdb/describe': many((i) => lmdb.describe(any(i))),
}
try {
  const sqlite = await openSqlite(join(folder, 'catalog.sqlite'), 'full')
  contenders['sqlite FULL/declare'] = many(() => sqlite.declare(fresh()))
  contenders['sqlite FULL/describe'] = many((i) => sqlite.describe(any(i)))
} catch (error) {
  console.error(`Without better-sqlite3: ${(error as Error).message}`)
}
serveArena(contenders)
