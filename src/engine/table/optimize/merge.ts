import type { Field } from '@uwdata/flechette'
import { pathIn } from '../../../base/model/relative-path.ts'
import { prefetch } from '../../../base/scheduling/prefetch.ts'
import type { TimeSlice } from '../../../base/scheduling/time-slice.ts'
import type { AnyBatch } from '../../arrow/batch.ts'
import type { Bitmap } from '../../arrow/bitmap.ts'
import { assembleColumns, compactDictionary } from '../../arrow/take/assemble-columns.ts'
import { assemble, type Piece, wholeOf } from '../../arrow/take/take.ts'
import { treeOfSchema } from '../columns/edits.ts'
import { fieldOf, idsOf } from '../columns/field-tree.ts'
import { readLive } from '../format/deletions.ts'
import { contentKey, type FragmentEntry, type StoredLayout } from '../format/manifest.ts'
import type { TableFiles, TableSchema } from '../format/table-schema.ts'
import type { Job } from '../job.ts'
import { readColumns } from '../read/fragment-read.ts'
import { selectRows } from '../read/row-selection.ts'
import { ByteCache } from '../storage/cache.ts'
import { coalesceReads, uncached } from '../storage/coalesced-read.ts'
import type { Storage } from '../storage/storage.ts'
import { storeSchema } from '../write/write-manifest.ts'
import { writeFragment } from '../write/write-rows.ts'
import { unneededBytes } from './plan.ts'

/** A fragment whose rows were copied into a merged one. */
export interface Source {
  readonly path: string
  /** Its files, as by `contentKey`. */
  readonly content: string
  readonly rows: number
  /** Live rows at that time; undefined for all rows. */
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
  readonly layout: StoredLayout
  /** Whether dropped columns were left out. */
  readonly saves: boolean
}

/** How many small fragments are prefetched. */
const depth = 8
const smallBytes = 4 * 1024 * 1024

/**
 * Writes the rows of some fragments as one fragment, or as few as possible: the live ones, or all, so that the number of
 * a row shows its source.
 */
export async function merge(
  job: Job,
  { prefix, schema }: TableFiles,
  entries: readonly FragmentEntry[],
  wantedRows: 'live' | 'all',
  onRows: (rows: number) => void,
): Promise<Merged> {
  const sources = new Map<string, Source>()
  const wanted = columnsIn(schema, entries)
  const { tree } = treeOfSchema(schema)
  const nodes = wanted.map((index) => tree[index]!)
  const fields = nodes.map(fieldOf)
  const gathered = new Gatherer(fields)
  let start = 0
  const read = async (entry: FragmentEntry) => ({
    entry,
    columns: await readWhole(job.storage, { prefix, schema }, entry, wanted),
    live: wantedRows === 'live' ? await readLive(job.storage, prefix, entry) : undefined,
  })
  const areSmall = entries.every(({ size }) => size <= smallBytes)
  for await (const { entry, columns, live } of prefetch(entries, read, { depth: areSmall ? depth : 0 })) {
    const { path, rows, deletions } = entry
    const left = live && selectRows(live, rows, 0, rows)
    gathered.add(columns, left?.runs)
    sources.set(path, { path, content: contentKey(entry), rows, live, deletions: deletions?.path, start })
    start += left ? left.rows : rows
    onRows(rows)
    if (job.due) await job.rest()
  }
  const written: FragmentEntry[] = []
  const merged = { prefix, schema: { ...schema, fields, columns: undefined } }
  for (const batches of await gathered.finish(job)) {
    written.push(await writeFragment(job, merged, batches))
    if (job.due) await job.rest()
  }
  const layout = { schema: storeSchema({ ...schema, fields }).schema, ids: idsOf(nodes) }
  const saves = entries.some((entry) => unneededBytes(schema, entry) > 0)
  return { sources, rows: start, written, layout, saves }
}

/** The columns that at least one of the fragments has. The others are null, and need not be written. */
function columnsIn({ fields, columns }: TableSchema, entries: readonly FragmentEntry[]): number[] {
  const all = [...fields.keys()]
  if (columns === undefined) return all
  const found = all.filter((index) => entries.some((entry) => columns.locationsIn(entry)[index]))
  // A file needs a column to have rows.
  return found.length > 0 ? found : [0]
}

/** Pieces that are kept before they are assembled. */
const maxPieces = 256

/** Gathers rows of many fragments. Its memory depends on the gathered rows only, not on the fragments. */
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

  /** Adds rows of a fragment: those in runs, or all. */
  add(columns: readonly AnyBatch[], runs: ArrayLike<number> | undefined): void {
    for (const [i, batch] of columns.entries()) {
      this.#pieces[i]!.push(runs ? { batch, runs } : wholeOf(batch))
      // A single run would become a view, which keeps all rows of the fragment in memory. Two pieces are copied.
      if (runs) this.#pieces[i]!.push({ batch, runs: [] })
    }
    if (runs || this.#pieces[0]!.length >= maxPieces) this.#flush()
  }

  /** One batch for each column, or several if one dictionary cannot hold all entries. */
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

/** Columns of a fragment, in one coalesced read without the cache: rows that are read once would evict others. */
async function readWhole(
  storage: Storage,
  table: TableFiles,
  entry: FragmentEntry,
  wanted: readonly number[],
): Promise<readonly AnyBatch[]> {
  const content = coalesceReads(uncached(storage.content), pathIn(table.prefix, entry.path))
  const past = { content, cache: new ByteCache(0) }
  const { columns } = await readColumns(past, table, entry, wanted)
  return wanted.map((index) => columns[index]!)
}
