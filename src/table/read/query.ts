import type { Field, Schema } from '@uwdata/flechette'
import type { AnyBatch } from '../../arrow/batch.ts'
import { type Bitmap, countRows } from '../../arrow/bitmap.ts'
import { encodeArrow, joinParts } from '../../arrow/ipc/encode.ts'
import { assembleColumns } from '../../arrow/take/assemble-columns.ts'
import type { Piece } from '../../arrow/take/take.ts'
import { invalid } from '../../errors.ts'
import type { Predicate } from '../../predicate/index.ts'
import { prefetch } from '../../scheduling/prefetch.ts'
import { TimeSlice } from '../../scheduling/time-slice.ts'
import { readLive } from '../format/deletions.ts'
import type { FragmentEntry } from '../format/manifest.ts'
import { fragmentsOf, type LoadedSnapshot } from '../format/snapshot.ts'
import { compile, prune, readFragment, selectMatches } from '../scan/fragment.ts'
import { type PendingResult, startScan } from '../scan/scan.ts'
import type { Storage } from '../storage/objects.ts'
import type { CountOptions, QueryOptions } from '../table-engine.ts'
import { readColumns } from './fragment-read.ts'
import { pickColumns, projection } from './projection.ts'
import { selectAllRows, selectRows } from './row-selection.ts'

/** Rows of each record batch in an answer but the last. */
const batchRows = 131_072

/** The requested rows as an Arrow IPC file. */
export async function queryRows(
  storage: Storage,
  snapshot: LoadedSnapshot,
  options: QueryOptions,
): Promise<Uint8Array> {
  const { prefix, schema } = snapshot
  const { signal, onProgress } = options
  let skip = bound('offset', options.offset) ?? 0
  let left = bound('limit', options.limit) ?? Number.POSITIVE_INFINITY
  const timeSlice = new TimeSlice(signal)
  const picks = projection(schema, options.columns)
  const predicate =
    options.filter === undefined ? undefined : await compile(options.filter, schema, storage.now())
  const answer = new Answer(picks.map(({ field }) => field))
  const budget = predicate?.budget()
  // With a limit, the first fragments may have enough rows, so fragments are not scanned as a whole.
  const scan =
    predicate && left === Infinity ? await startScan(storage, snapshot, predicate, timeSlice) : undefined
  const find = async (entry: FragmentEntry, predicate: Predicate): Promise<PendingResult<Bitmap>> => {
    if (scan) return scan.begin(entry, 'rows')
    const fragment = await readFragment(storage, prefix, schema, predicate, entry)
    return () => {
      let wanted = skip + left
      return selectMatches(predicate, fragment, timeSlice, budget!, (slice) => {
        wanted -= countRows(slice)
        return wanted <= 0
      })
    }
  }
  const begin = async (entry: FragmentEntry) => {
    const verdict = predicate ? prune(predicate, schema, entry) : 'all'
    return {
      entry,
      verdict,
      matches: verdict === 'some' && predicate ? await find(entry, predicate) : undefined,
    }
  }
  let rowsDone = 0
  const rowsTotal = snapshot.rows + snapshot.deletedRows
  // Without a filter the manifest has the number of rows, so a fragment is only read when one of its rows is needed.
  const plan = scan ?? { depth: predicate ? 2 : 0 }
  try {
    for await (const { entry, verdict, matches } of prefetch(fragmentsOf(storage, snapshot), begin, plan)) {
      if (left <= 0) break
      rowsDone += entry.rows
      const known = verdict === 'all' ? entry.rows - (entry.deletions?.count ?? 0) : undefined
      if (verdict === 'none' || (known !== undefined && known <= skip)) {
        skip -= known ?? 0
      } else {
        const found = matches ? await matches() : await readLive(storage, prefix, entry)
        const runs = found ? selectRows(found, entry.rows, skip, left) : selectAllRows(entry.rows, skip, left)
        skip -= runs.skipped
        left -= runs.rows
        if (runs.rows > 0) {
          const indices = picks.map(({ path }) => path[0]!)
          const { columns } = await readColumns(storage, prefix, schema, entry, indices)
          answer.add(pickColumns(picks, columns), runs.runs, runs.rows)
        }
      }
      onProgress?.({ rowsDone, rowsTotal })
      if (timeSlice.due) await timeSlice.rest()
    }
  } finally {
    scan?.end()
  }
  signal?.throwIfAborted()
  return answer.encode(schema.metadata)
}

function bound(name: string, value: number | undefined): number | undefined {
  if (value === undefined) return undefined
  if (!Number.isSafeInteger(value) || value < 0) {
    throw invalid(`The ${name} is ${value}. Give a whole number of rows, 0 or more.`)
  }
  return value
}

/** Gathers the rows of an answer into batches of a good size. */
class Answer {
  readonly #fields: readonly Field[]
  readonly #columns: AnyBatch[][]
  #pieces: Piece[][]
  #rows = 0

  constructor(fields: readonly Field[]) {
    this.#fields = fields
    this.#columns = fields.map(() => [])
    this.#pieces = fields.map(() => [])
  }

  add(batches: readonly AnyBatch[], runs: ArrayLike<number>, rows: number): void {
    for (const [i, batch] of batches.entries()) this.#pieces[i]!.push({ batch, runs })
    this.#rows += rows
    if (this.#rows >= batchRows) this.#flush()
  }

  encode(metadata: Schema['metadata']): Uint8Array {
    if (this.#rows > 0) this.#flush()
    return joinParts(encodeArrow({ fields: [...this.#fields], metadata: metadata ?? null }, this.#columns))
  }

  #flush(): void {
    for (const batches of assembleColumns(this.#fields, this.#pieces)) {
      for (const [i, batch] of batches.entries()) this.#columns[i]!.push(batch)
    }
    this.#pieces = this.#fields.map(() => [])
    this.#rows = 0
  }
}

/** Counts the rows that match a predicate. Without a predicate it counts all rows and reads none. */
export async function countMatching(
  storage: Storage,
  snapshot: LoadedSnapshot,
  options: CountOptions,
): Promise<number> {
  const { predicate: text, signal, onProgress } = options
  const timeSlice = new TimeSlice(signal)
  if (text === undefined) return snapshot.rows
  const { schema } = snapshot
  const predicate = await compile(text, schema, storage.now())
  const scan = await startScan(storage, snapshot, predicate, timeSlice)
  const begin = async (entry: FragmentEntry) => {
    const verdict = prune(predicate, schema, entry)
    return { entry, verdict, count: verdict === 'some' ? await scan.begin(entry, 'count') : undefined }
  }
  const rowsTotal = snapshot.rows + snapshot.deletedRows
  let rowsDone = 0
  let sum = 0
  try {
    for await (const { entry, verdict, count } of prefetch(fragmentsOf(storage, snapshot), begin, scan)) {
      if (count) sum += await count()
      else if (verdict === 'all') sum += entry.rows - (entry.deletions?.count ?? 0)
      rowsDone += entry.rows
      onProgress?.({ rowsDone, rowsTotal })
      if (timeSlice.due) await timeSlice.rest()
    }
  } finally {
    scan.end()
  }
  return sum
}
