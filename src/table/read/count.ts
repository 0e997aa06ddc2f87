import { ahead } from '../../scheduling/prefetch.ts'
import { Pace } from '../../scheduling/time-slice.ts'
import type { FragmentEntry } from '../format/manifest.ts'
import { fragmentsOf, type LoadedSnapshot } from '../format/snapshot.ts'
import { compile, prune } from '../scan/predicate.ts'
import { startScan } from '../scan/scan.ts'
import type { Storage } from '../storage/objects.ts'
import type { CountOptions } from '../table-engine.ts'

/** How many rows a predicate holds for; all of them without one, and then no row is read. */
export async function countRows(
  storage: Storage,
  snapshot: LoadedSnapshot,
  options: CountOptions,
): Promise<number> {
  const { predicate: text, signal, onProgress } = options
  const pace = new Pace(signal)
  if (text === undefined) return snapshot.rows
  const { schema } = snapshot
  const predicate = await compile(text, schema, storage.now())
  const scan = await startScan(storage, snapshot, predicate, pace)
  const begin = async (entry: FragmentEntry) => {
    const verdict = prune(predicate, schema, entry)
    return { entry, verdict, count: verdict === 'some' ? await scan.begin(entry, 'count') : undefined }
  }
  const rowsTotal = snapshot.rows + snapshot.deletedRows
  let rowsDone = 0
  let sum = 0
  try {
    for await (const { entry, verdict, count } of ahead(fragmentsOf(storage, snapshot), begin, scan)) {
      if (count) sum += await count()
      else if (verdict === 'all') sum += entry.rows - (entry.deletions?.count ?? 0)
      rowsDone += entry.rows
      onProgress?.({ rowsDone, rowsTotal })
      if (pace.due) await pace.rest()
    }
  } finally {
    scan.end()
  }
  return sum
}
