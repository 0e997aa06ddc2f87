import type { Bitmap } from '../../arrow/bitmap.ts'
import { ahead } from '../../scheduling/prefetch.ts'
import type { Pace } from '../../scheduling/time-slice.ts'
import { readLive } from '../format/deletions.ts'
import type { FragmentEntry } from '../format/manifest.ts'
import type { LoadedSnapshot } from '../format/snapshot.ts'
import { readWhole } from '../read/fragment-whole.ts'
import { runsOf } from '../read/row-selection.ts'
import type { Storage } from '../storage/objects.ts'
import { writeFragment } from '../write/fragment-write.ts'
import { Gatherer } from './gather.ts'

/** A fragment whose rows went into a new one. */
export interface Source {
  readonly path: string
  readonly rows: number
  /** Rows that were not deleted then; undefined when none was. */
  readonly live: Bitmap | undefined
  readonly deletions: string | undefined
  /** Where its first row lies among the new ones. */
  readonly start: number
}

/** Fragments that were written to take the place of others. */
export interface Merged {
  readonly sources: ReadonlyMap<string, Source>
  readonly rows: number
  readonly written: readonly FragmentEntry[]
}

/** Small fragments that are read before it is their turn. */
const depth = 8
const smallBytes = 4 * 1024 * 1024

/** Writes the rows of some fragments that are not deleted as one, or as few as there can be. */
export async function merge(
  storage: Storage,
  { prefix, schema }: LoadedSnapshot,
  entries: readonly FragmentEntry[],
  pace: Pace,
  onRows: (rows: number) => void,
): Promise<Merged> {
  const sources = new Map<string, Source>()
  const gathered = new Gatherer(schema.fields)
  let start = 0
  const read = async (entry: FragmentEntry) => ({
    entry,
    columns: await readWhole(storage, prefix, schema, entry),
    live: await readLive(storage, prefix, entry),
  })
  const areSmall = entries.every(({ size }) => size <= smallBytes)
  for await (const { entry, columns, live } of ahead(entries, read, { depth: areSmall ? depth : 0 })) {
    const { path, rows, deletions } = entry
    const left = live && runsOf(live, rows, 0, rows)
    gathered.add(columns, left?.runs)
    sources.set(path, { path, rows, live, deletions: deletions?.path, start })
    start += left ? left.rows : rows
    onRows(rows)
    if (pace.due) await pace.rest()
  }
  const written: FragmentEntry[] = []
  for (const batches of await gathered.finish(pace)) {
    written.push(await writeFragment(storage, prefix, schema, batches, pace))
    await pace.rest()
  }
  return { sources, rows: start, written }
}
