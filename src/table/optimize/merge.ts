import type { Field, Schema } from '@uwdata/flechette'
import type { AnyBatch } from '../../arrow/batch.ts'
import type { Bitmap } from '../../arrow/bitmap.ts'
import { assembleColumns } from '../../arrow/take/assemble-columns.ts'
import { compactDictionary } from '../../arrow/take/compact.ts'
import { assemble, type Piece, wholeOf } from '../../arrow/take/take.ts'
import { ahead } from '../../scheduling/prefetch.ts'
import type { Pace } from '../../scheduling/time-slice.ts'
import { readLive } from '../format/deletions.ts'
import type { FragmentEntry } from '../format/manifest.ts'
import type { LoadedSnapshot } from '../format/snapshot.ts'
import { readColumns } from '../read/fragment-read.ts'
import { runsOf } from '../read/row-selection.ts'
import { ByteCache } from '../storage/cache.ts'
import { oneRead } from '../storage/coalesced-read.ts'
import type { Storage } from '../storage/objects.ts'
import { writeFragment } from '../write/fragment-write.ts'

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

/** Pieces that are kept before they are put together. */
const mostPieces = 256

/**
 * Gathers rows of many fragments. What it keeps is about as large as the rows themselves, however many or
 * large the fragments were that they come from.
 */
class Gatherer {
  readonly #fields: readonly Field[]
  /** What was put together, for each column. */
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
      // A single run would be a view, which keeps all rows of the fragment; two pieces are copied.
      if (runs) this.#pieces[i]!.push({ batch, runs: [] })
    }
    if (runs || this.#pieces[0]!.length >= mostPieces) this.#flush()
  }

  /** The rows as one batch for each column; as several where one dictionary would not hold them all. */
  async finish(pace: Pace): Promise<AnyBatch[][]> {
    this.#flush()
    const pieces = this.#batches.map((batches) => batches.map(wholeOf))
    try {
      const batches: AnyBatch[] = []
      for (const [i, field] of this.#fields.entries()) {
        batches.push(compactDictionary(assemble(field.type, pieces[i]!)))
        if (pace.due) await pace.rest()
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
 * All columns of a fragment, read in one go, and past the cache, where rows that are read once would only
 * drive out what is read often.
 */
async function readWhole(
  storage: Storage,
  prefix: string,
  schema: Schema,
  entry: FragmentEntry,
): Promise<readonly AnyBatch[]> {
  const content = oneRead(storage.content, prefix + entry.path)
  const past = { ...storage, content, cache: new ByteCache(0) }
  const { columns } = await readColumns(past, prefix, schema, entry, schema.fields.keys())
  return columns as readonly AnyBatch[]
}
