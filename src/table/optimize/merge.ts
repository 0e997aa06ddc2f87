import type { Field, Schema } from '@uwdata/flechette'
import type { AnyBatch } from '../../arrow/batch.ts'
import type { Bitmap } from '../../arrow/bitmap.ts'
import { assembleColumns } from '../../arrow/take/assemble-columns.ts'
import { compactDictionary } from '../../arrow/take/compact.ts'
import { assemble, type Piece, wholeOf } from '../../arrow/take/take.ts'
import { prefetch } from '../../scheduling/prefetch.ts'
import type { TimeSlice } from '../../scheduling/time-slice.ts'
import { readLive } from '../format/deletions.ts'
import type { FragmentEntry } from '../format/manifest.ts'
import type { LoadedSnapshot } from '../format/snapshot.ts'
import { readColumns } from '../read/fragment-read.ts'
import { selectRows } from '../read/row-selection.ts'
import { ByteCache } from '../storage/cache.ts'
import { coalesceReads } from '../storage/coalesced-read.ts'
import type { Storage } from '../storage/objects.ts'
import { writeFragment } from '../write/fragment-write.ts'

/** A fragment whose rows were copied into a merged one. */
export interface Source {
  readonly path: string
  readonly rows: number
  /** Rows that were not deleted at that time; undefined for all rows. */
  readonly live: Bitmap | undefined
  readonly deletions: string | undefined
  /** The index of its first row among the merged rows. */
  readonly start: number
}

/** Fragments that were written to replace others. */
export interface Merged {
  readonly sources: ReadonlyMap<string, Source>
  readonly rows: number
  readonly written: readonly FragmentEntry[]
}

/** How many small fragments are prefetched. */
const depth = 8
const smallBytes = 4 * 1024 * 1024

/** Writes the live rows of some fragments as one fragment, or as few as possible. */
export async function merge(
  storage: Storage,
  { prefix, schema }: LoadedSnapshot,
  entries: readonly FragmentEntry[],
  timeSlice: TimeSlice,
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
  for await (const { entry, columns, live } of prefetch(entries, read, { depth: areSmall ? depth : 0 })) {
    const { path, rows, deletions } = entry
    const left = live && selectRows(live, rows, 0, rows)
    gathered.add(columns, left?.runs)
    sources.set(path, { path, rows, live, deletions: deletions?.path, start })
    start += left ? left.rows : rows
    onRows(rows)
    if (timeSlice.due) await timeSlice.rest()
  }
  const written: FragmentEntry[] = []
  for (const batches of await gathered.finish(timeSlice)) {
    written.push(await writeFragment(storage, prefix, schema, batches, timeSlice))
    await timeSlice.rest()
  }
  return { sources, rows: start, written }
}

/** Pieces that are kept before they are assembled. */
const mostPieces = 256

/**
 * Gathers rows of many fragments. The memory it takes depends on the gathered rows only, and not on the number or size
 * of the fragments.
 */
class Gatherer {
  readonly #fields: readonly Field[]
  /** The assembled batches of each column. */
  #batches: AnyBatch[][]
  #pieces: Piece[][]

  constructor(fields: readonly Field[]) {
    this.#fields = fields
    this.#batches = fields.map(() => [])
    this.#pieces = fields.map(() => [])
  }

  /** Adds rows of a fragment: the runs of them, or all. */
  add(columns: readonly AnyBatch[], runs: ArrayLike<number> | undefined): void {
    for (const [i, batch] of columns.entries()) {
      this.#pieces[i]!.push(runs ? { batch, runs } : wholeOf(batch))
      // A single run would become a view, which keeps all rows of the fragment in memory. Two pieces are copied.
      if (runs) this.#pieces[i]!.push({ batch, runs: [] })
    }
    if (runs || this.#pieces[0]!.length >= mostPieces) this.#flush()
  }

  /** The rows as one batch for each column, or as several when one dictionary cannot hold all entries. */
  async finish(timeSlice: TimeSlice): Promise<AnyBatch[][]> {
    this.#flush()
    const pieces = this.#batches.map((batches) => batches.map(wholeOf))
    try {
      const batches: AnyBatch[] = []
      for (const [i, field] of this.#fields.entries()) {
        batches.push(compactDictionary(assemble(field.type, pieces[i]!)))
        if (timeSlice.due) await timeSlice.rest()
      }
      return [batches]
    } catch (error) {
      if (error instanceof RangeError) return assembleColumns(this.#fields, pieces)
      throw error
    }
  }

  #flush(): void {
    if (this.#pieces[0]!.length === 0) return
    for (const batches of assembleColumns(this.#fields, this.#pieces)) {
      for (const [i, batch] of batches.entries()) this.#batches[i]!.push(batch)
    }
    this.#pieces = this.#fields.map(() => [])
  }
}

/**
 * All columns of a fragment, in one coalesced read past the cache. Rows that are read once would only drive out of the
 * cache what is read often.
 */
async function readWhole(
  storage: Storage,
  prefix: string,
  schema: Schema,
  entry: FragmentEntry,
): Promise<readonly AnyBatch[]> {
  const content = coalesceReads(storage.content, prefix + entry.path)
  const past = { ...storage, content, cache: new ByteCache(0) }
  const { columns } = await readColumns(past, prefix, schema, entry, schema.fields.keys())
  return columns as readonly AnyBatch[]
}
