import { once } from 'node:events'
import { writeSync } from 'node:fs'
import { CatalogError, openCatalog } from '../../src/tabularium/index.ts'
import { columns } from './crash-work.ts'
import { balls, type Report, seats, sizes } from './race-work.ts'

/* Races other processes on one catalog, and prints the results at the end. */

const [directory, me] = process.argv.slice(2) as [string, string]
const catalog = await openCatalog(directory)
writeSync(1, 'ready\n')
await once(process.stdin, 'data')

const report: Report = {
  won: [],
  wonWithRows: [],
  refused: {},
  arrivals: {},
  departures: {},
  commits: [],
  inserted: [],
  deleted: [],
  merged: [],
}

/** Runs one call. Counts failures that the race does not explain. */
async function tries(expected: readonly string[], call: () => Promise<unknown>): Promise<boolean> {
  try {
    await call()
    return true
  } catch (error) {
    if (!(error instanceof CatalogError) || !expected.includes(error.code)) throw error
    report.refused[error.code] = (report.refused[error.code] ?? 0) + 1
    return false
  }
}

/** Every process creates the same tables: each has one winner. */
async function create(): Promise<void> {
  for (let n = 0; n < sizes.creates; n += 20) {
    const names = Array.from({ length: 20 }, (_, i) => `c${n + i}`)
    await Promise.all(
      names.map(async (name) => {
        const won = await tries(['TableAlreadyExists'], () =>
          catalog.declareTable({ id: [name], properties: { by: me } }),
        )
        if (won) report.won.push(name)
      }),
    )
  }
  for (let n = 0; n < sizes.createsWithRows; n++) {
    const data = [{ id: n, note: me }]
    const won = await tries(['TableAlreadyExists'], () =>
      catalog.createTable({ id: [`r${n}`], data, schema: columns }),
    )
    if (won) report.wonWithRows.push(`r${n}`)
  }
}

function count(counts: Record<string, number>, name: string): void {
  counts[name] = (counts[name] ?? 0) + 1
}

/** Moves tables between a few names. The counts of moves determine which names are taken at the end. */
async function rename(): Promise<void> {
  for (let n = 0; n < sizes.renames; n++) {
    const [from, to] = [pick(seats), pick(seats)]
    const moved = await tries(['TableNotFound', 'TableAlreadyExists'], () =>
      catalog.renameTable({ id: ['seats', from], new_table_name: to }),
    )
    if (!moved) continue
    count(report.departures, `seats$${from}`)
    count(report.arrivals, `seats$${to}`)
  }
}

/** Declares and drops tables under a few names. */
async function comeAndGo(): Promise<void> {
  for (let n = 0; n < sizes.drops; n++) {
    const id = ['few', pick(balls)]
    const name = id.join('$')
    if (await tries(['TableAlreadyExists'], () => catalog.declareTable({ id }))) count(report.arrivals, name)
    const gone = pick(balls)
    if (await tries(['TableNotFound'], () => catalog.dropTable({ id: ['few', gone] }))) {
      count(report.departures, `few$${gone}`)
    }
  }
}

/** Commits the next version of two tables atomically, and retries until it wins. */
async function commitBatches(): Promise<void> {
  for (let n = 0; n < sizes.commits; n++) {
    const batch = `${me}-${n}`
    for (;;) {
      const { version = 0 } = await catalog.describeTable({ id: ['left'], load_detailed_metadata: true })
      const entry = { version: version + 1, manifest_path: batch, metadata: { batch } }
      const won = await tries(['ConcurrentModification'], () =>
        catalog.batchCommitTables({
          operations: [
            { create_table_version: { id: ['left'], ...entry } },
            { create_table_version: { id: ['right'], ...entry } },
          ],
        }),
      )
      if (won) break
    }
    report.commits.push(batch)
  }
}

/** Inserts rows into a shared table, deletes some of its own, and merges the fragments. */
async function changeRows(): Promise<void> {
  const id = ['rows']
  for (let n = 0; n < sizes.inserts; n++) {
    const note = `${me}-${n}`
    await catalog.insertIntoTable({ id, data: [{ id: n, note }], schema: columns })
    report.inserted.push(note)
    if (n % 10 === 5) {
      const { optimized, version } = await catalog.optimizeTable({ id })
      if (optimized) report.merged.push(version)
    }
    if (n % 4 !== 3) continue
    const gone = `${me}-${n - 1}`
    await catalog.deleteFromTable({ id, predicate: `note = '${gone}'` })
    report.deleted.push(gone)
  }
}

function pick<T>(choices: readonly T[]): T {
  return choices[Math.floor(Math.random() * choices.length)]!
}

await Promise.all([create(), rename(), rename(), comeAndGo(), comeAndGo(), commitBatches(), changeRows()])
await catalog.close()
writeSync(1, `${JSON.stringify(report)}\n`)
process.exit(0)
