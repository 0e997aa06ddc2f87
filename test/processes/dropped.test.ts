import { rm } from 'node:fs/promises'
import { expect, onTestFinished, test } from 'vitest'
import { type LocalCatalog, openCatalog } from '../../src/tabularium/index.ts'
import { temporaryDirectory } from '../support/folders.ts'
import { limitEach } from '../support/time-limit.ts'
import { Child } from './child-process.ts'

// Processes are started and killed many times.
limitEach(240)

const kills = 12 * Number(process.env.HISTORY_RUNS ?? 1)
const hour = 3_600_000

/** A table: how many rows it has, and whether it is dropped and held. */
interface Table {
  readonly rows: number
  readonly isHeld: boolean
}

type Tables = Readonly<Record<string, Table>>

function after(tables: Tables, step: string, name: string): Tables {
  const { [name]: table = { rows: 0, isHeld: false }, ...others } = tables
  if (step === 'purge') return others
  const rows = table.rows + (step === 'create' || step === 'insert' || step === 'both' ? 1 : 0)
  return { ...others, [name]: { rows, isHeld: step === 'drop' || step === 'both' } }
}

/** What there is, by bringing held tables back for the moment, all in a transaction that is given up. */
async function found(catalog: LocalCatalog): Promise<Tables> {
  const tables: Record<string, Table> = {}
  const count = async (read: Pick<LocalCatalog, 'countTableRows'>, name: string) =>
    (await read.countTableRows({ id: [name], predicate: 'x >= 0' })).count
  for (const name of (await catalog.listAllTables({})).tables)
    tables[name] = { rows: await count(catalog, name), isHeld: false }
  const givenUp = new Error('given up')
  await catalog
    .transaction(async (tx) => {
      for (const { id } of (await tx.listDroppedTables({ id: [] })).dropped) {
        await tx.undropTable({ id, new_table_name: `back-${id[0]}` })
        const { count } = await tx.countTableRows({ id: [`back-${id[0]}`], predicate: 'x >= 0' })
        expect(tables).not.toHaveProperty(id[0]!)
        tables[id[0]!] = { rows: count, isHeld: true }
      }
      throw givenUp
    })
    .catch((error) => {
      if (error !== givenUp) throw error
    })
  return tables
}

const sorted = (tables: Tables) => Object.entries(tables).sort(([a], [b]) => (a < b ? -1 : 1))

test(`what was dropped, brought back and purged is so after ${kills} kills, and nothing in part`, async () => {
  const directory = await temporaryDirectory()
  const children = new Set<Child>()
  onTestFinished(async () => {
    for (const child of children) child.stop()
    await rm(directory, { recursive: true, force: true })
  })
  let tables: Tables = {}
  const done: Record<string, number> = {}
  for (let n = 0; n < kills; n++) {
    const child = new Child('test/processes/dropped-child.ts', [directory, 'steps', String(n + 1)])
    const vacuum = new Child('test/processes/dropped-child.ts', [directory, 'vacuum', ''])
    for (const one of [child, vacuum]) children.add(one)
    await child.wrote(8 + ((n * 13) % 40))
    // Later by a part of a step each time.
    await new Promise((resolve) => setTimeout(resolve, (n * 3) % 17))
    await Promise.all([child.kill(), vacuum.kill()])
    let pending: readonly [step: string, name: string] | undefined
    for (const line of child.lines.slice(1)) {
      const [word, step, name] = line.split(' ') as [string, string, string]
      pending = word === 'try' ? [step, name] : undefined
      if (word === 'did') {
        tables = after(tables, step, name)
        done[step] = (done[step] ?? 0) + 1
      }
    }
    await using catalog = await openCatalog(directory, { retainDropped: hour })
    const now = await found(catalog)
    const allowed = pending === undefined ? [tables] : [tables, after(tables, ...pending)]
    expect(allowed.map(sorted)).toContainEqual(sorted(now))
    tables = now
    const { findings } = await catalog.verify()
    expect(findings.filter(({ severity }) => severity === 'problem')).toEqual([])
  }
  for (const step of ['create', 'insert', 'drop', 'undrop', 'purge', 'both'])
    expect(done[step]).toBeGreaterThan(0)

  // Long after, nothing of what was dropped is left, nor of what was purged when a process was killed.
  const later = Date.now() + 2 * hour
  await using catalog = await openCatalog(directory, { retainDropped: hour, now: () => later })
  for (const name of (await catalog.listAllTables({})).tables)
    await catalog.dropTable({ id: [name], purge: true })
  await catalog.vacuum({ graceMillis: 0 })
  expect((await catalog.listDroppedTables({ id: [] })).dropped).toEqual([])
  expect(await catalog.vacuum({ graceMillis: 0, dryRun: true })).toEqual({
    examined: 0,
    removed: 0,
    bytes: 0,
  })
  const { findings } = await catalog.verify()
  expect(findings).toEqual([])
})
