import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { openCatalog } from '../../../dist/tabularium/index.js'
import { type Runner, serveArena } from '../arena.ts'
import { inFlight, inTurn, microseconds } from '../measure.ts'
import { type OperationCase, operationCases, prepareCases } from '../operation-cases.ts'
import { openRawLmdb } from '../peers/raw-lmdb.ts'
import { type Durability, openSqlite } from '../peers/sqlite.ts'
import { scattered, seededDirectory, seedTables, tableName, tableNames } from '../seed.ts'

/*
 * One catalog of so many tables, every operation on it, and peers that hold as many. Contenders are named
 * `ours/OPERATION/1` (one after the other), `ours/OPERATION/64` (so many in flight), `PEER/OPERATION/…`.
 */

const [store, sizeGiven, folder] = process.argv.slice(2) as [string, string, string]
const size = Number(sizeGiven)
const contenders: Record<string, Runner> = {}
// What earlier runs on a shared catalog made has other names.
let next = Date.now() % 1_000_000_000

function add(
  name: string,
  { prepare, call }: Omit<OperationCase, 'call'> & { call: (i: number) => unknown },
) {
  for (const atOnce of [1, 64]) {
    contenders[`${name}/${atOnce}`] = async (times) => {
      const from = next
      next += times
      await prepare?.(undefined as never, from, times)
      return microseconds(times, () =>
        atOnce === 1
          ? inTurn(times, (i) => call(from + i))
          : inFlight(times, atOnce, async (i) => call(from + i)),
      )
    }
  }
}

async function addOurs(): Promise<void> {
  const catalog = await openCatalog(store === 'memory' ? 'memory:' : await seededDirectory(size))
  if (store === 'memory') await seedTables(catalog, size)
  await prepareCases(catalog)
  for (const [name, { prepare, call }] of Object.entries(operationCases(size))) {
    add(`ours/${name}`, {
      ...(prepare && { prepare: (_, from, times) => prepare(catalog, from, times) }),
      call: (i) => call(catalog, i),
    })
  }
}

async function addSqlite(peer: string, durability: Durability): Promise<void> {
  const path = durability === 'none' ? ':memory:' : join(folder, `${peer}-${size}.sqlite`)
  const db = await openSqlite(path, durability)
  db.declareAll(tableNames(size))
  const spare = (name: string) => (i: number) => `${name}${i}`
  const declared = (name: string) => async (_: unknown, from: number, times: number) =>
    db.declareAll(Array.from({ length: times }, (_, i) => spare(name)(from + i)))
  const any = (i: number) => tableName(scattered(i, size))
  const cases: Record<string, { prepare?: ReturnType<typeof declared>; call: (i: number) => unknown }> = {
    describeTable: { call: (i) => db.describe(any(i)) },
    tableExists: { call: (i) => db.exists(any(i)) },
    listTables: { call: () => db.page('', 100) },
    declareTable: { call: (i) => db.declare(spare('u')(i)) },
    renameTable: { prepare: declared('a'), call: (i) => db.rename(spare('a')(i), spare('b')(i)) },
    deregisterTable: { prepare: declared('g'), call: (i) => db.drop(spare('g')(i)) },
    createTableVersion: { call: (i) => db.createVersion(spare('v')(i), 1) },
  }
  for (const [name, one] of Object.entries(cases)) add(`${peer}/${name}`, one as never)
}

async function addRawLmdb(): Promise<void> {
  const path = join(folder, `raw-${size}.mdb`)
  rmSync(path, { force: true })
  const db = openRawLmdb(path)
  await db.fill(tableNames(size))
  add('lmdb/describeTable', { call: (i) => db.describe(tableName(scattered(i, size))) })
  add('lmdb/listTables', { call: () => db.page('', 100) })
  add('lmdb/declareTable', { call: (i) => db.declare(`u${i}`) })
}

await addOurs()
if (store === 'disk') await addRawLmdb()
for (const [peer, durability] of store === 'memory'
  ? ([['sqlite memory', 'none']] as const)
  : ([
      ['sqlite FULL', 'full'],
      ['sqlite NORMAL', 'normal'],
    ] as const)) {
  try {
    await addSqlite(peer, durability)
  } catch (error) {
    console.error(`Without ${peer}: ${(error as Error).message}`)
  }
}
serveArena(contenders)
