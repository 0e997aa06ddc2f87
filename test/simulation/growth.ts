import type { TransactionRecord } from '../../src/base/store/records.ts'
import type { LocalCatalog } from '../../src/tabularium/index.ts'
import { type Fleet, root } from './fleet.ts'
import { Violation } from './ledger.ts'
import type { Script } from './script.ts'

/** Records of each kind, by the first parts of their keys. */
async function countRecords({ records }: Fleet): Promise<Map<string, number>> {
  return records.read((reader) => {
    const counts = new Map<string, number>()
    for (const { key } of reader.range({})) {
      const kind = String(key[0])
      counts.set(kind, (counts.get(kind) ?? 0) + 1)
    }
    return counts
  })
}

/** Changes that a killed process had not counted yet. Some connections fail at any time. */
const uncounted = 25

/** Checks that after a load without faults, the upkeep has removed all records of changes but those to keep. */
export async function checkAfterLoad({ records }: Fleet, script: Script): Promise<void> {
  if (script.faults.length > 0) return
  const kept = await records.read(
    (reader) =>
      Array.from(reader.range<TransactionRecord>({ prefix: ['x'] })).filter(
        ({ value }) => value.status === 'Succeeded',
      ).length,
  )
  if (kept > script.transactionCount + uncounted)
    throw new Violation(
      `After the load, ${kept} records of changes are left, where ${script.transactionCount} are kept.`,
    )
}

/** How many records of each kind are left after all retention periods. */
const mostLeft: Readonly<Record<string, readonly [most: number, what: string]>> = {
  x: [14, 'transactions'],
  f: [14, 'entries of the feed'],
  p: [0, 'parts of entries of the feed'],
  m: [40, 'marks of changes'],
  h: [0, 'leases of backups'],
  k: [1, 'leases of tasks'],
  e: [0, 'changes inside of transactions'],
}

/** Checks that no old records are left, and no objects after all tables are dropped. */
export async function checkLeftovers(fleet: Fleet, catalog: LocalCatalog): Promise<void> {
  const counts = await countRecords(fleet)
  for (const [kind, [most, what]] of Object.entries(mostLeft)) {
    const count = counts.get(kind) ?? 0
    if (count > most) throw new Violation(`${count} records of ${what} are left.`)
  }
  const { tables } = await catalog.listTables({ id: [], include_declared: true })
  for (const name of tables) await catalog.dropTable({ id: [name] })
  await catalog.vacuum({ graceMillis: 0 })
  const waiting = await fleet.records.read((reader) =>
    Array.from(reader.range<string>({ prefix: ['d'] }), ({ value }) =>
      value.slice(0, value.indexOf('/', 7) + 1),
    ),
  )
  for await (const { path } of fleet.objects.list('tables/')) {
    if (waiting.some((folder) => path.startsWith(folder))) continue
    throw new Violation(`${root}/${path} is left, where no table is.`)
  }
}
