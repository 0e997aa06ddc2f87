import { ahead } from './ahead.ts'
import { readLive } from './deletions.ts'
import { compile, countMatches, prune } from './evaluate.ts'
import { readColumns } from './fragment-read.ts'
import type { FragmentEntry } from './manifest.ts'
import type { Storage } from './objects.ts'
import { Pace } from './pace.ts'
import { fragmentsOf, type LoadedSnapshot } from './snapshot.ts'
import type { CountOptions } from './table-engine.ts'

/** How many rows a predicate holds for; all of them without one, and then no row is read. */
export async function countRows(
  storage: Storage,
  snapshot: LoadedSnapshot,
  options: CountOptions,
): Promise<number> {
  const { predicate: text, signal, onProgress } = options
  const pace = new Pace(signal)
  if (text === undefined) return snapshot.rows
  const { prefix, schema } = snapshot
  const predicate = await compile(text, schema)
  const rowsTotal = snapshot.rows + snapshot.deletedRows
  let rowsDone = 0
  let sum = 0
  const read = async (entry: FragmentEntry) => {
    const verdict = prune(predicate, schema, entry)
    if (verdict !== 'some') return { entry, verdict }
    const [rows, live] = await Promise.all([
      readColumns(storage, prefix, schema, entry, predicate.columns),
      readLive(storage, prefix, entry),
    ])
    return { entry, rows, live }
  }
  for await (const { entry, verdict, rows, live } of ahead(fragmentsOf(storage, snapshot), read)) {
    if (rows) sum += await countMatches(predicate, rows, live, pace)
    else if (verdict === 'all') sum += entry.rows - (entry.deletions?.count ?? 0)
    rowsDone += entry.rows
    onProgress?.({ rowsDone, rowsTotal })
    if (pace.due) await pace.rest()
  }
  return sum
}
