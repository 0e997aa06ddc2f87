import type { Field, Schema } from '@uwdata/flechette'
import { invalid } from '../errors.ts'
import { ahead } from './ahead.ts'
import type { AnyBatch } from './arrow/batch.ts'
import { encodeArrow, joinParts } from './arrow/encode.ts'
import type { Piece } from './arrow/take.ts'
import { assembleColumns } from './assemble-columns.ts'
import { type Bitmap, countRows } from './bitmap.ts'
import { readLive } from './deletions.ts'
import { compile, prune, selectMatches } from './evaluate.ts'
import { readColumns } from './fragment-read.ts'
import type { FragmentEntry } from './manifest.ts'
import type { Storage } from './objects.ts'
import { Pace } from './pace.ts'
import type { Predicate } from './predicate/index.ts'
import { pickColumns, projection } from './projection.ts'
import { runsOf, wholeRun } from './row-runs.ts'
import { fragmentsOf, type LoadedSnapshot } from './snapshot.ts'
import type { QueryOptions } from './table-engine.ts'

/** Rows of a record batch in an answer, unless the last. */
const batchRows = 131_072

/** The rows asked for, as an Arrow IPC file. */
export async function queryRows(
  storage: Storage,
  snapshot: LoadedSnapshot,
  options: QueryOptions,
): Promise<Uint8Array> {
  const { prefix, schema } = snapshot
  const { signal, onProgress } = options
  let skip = bound('offset', options.offset) ?? 0
  let left = bound('limit', options.limit) ?? Number.POSITIVE_INFINITY
  const pace = new Pace(signal)
  const picks = projection(schema, options.columns)
  const predicate = options.filter === undefined ? undefined : await compile(options.filter, schema)
  const answer = new Answer(picks.map(({ field }) => field))
  const read = (entry: FragmentEntry) => readFragment(storage, snapshot, entry, predicate)
  let rowsDone = 0
  const rowsTotal = snapshot.rows + snapshot.deletedRows
  // Without a filter the manifest knows how many rows a fragment has, so it is only read when one is needed.
  const depth = predicate ? 2 : 0
  for await (const { entry, verdict, rows, live } of ahead(fragmentsOf(storage, snapshot), read, depth)) {
    if (left <= 0) break
    rowsDone += entry.rows
    const known = verdict === 'all' ? entry.rows - (entry.deletions?.count ?? 0) : undefined
    if (verdict === 'none' || (known !== undefined && known <= skip)) {
      skip -= known ?? 0
    } else {
      let found: Bitmap | undefined = verdict === 'all' ? await readLive(storage, prefix, entry) : undefined
      if (rows && predicate) {
        let wanted = skip + left
        found = await selectMatches(predicate, rows, live, pace, (slice) => {
          wanted -= Number.isFinite(wanted) ? countRows(slice) : 0
          return wanted <= 0
        })
      }
      const runs = found ? runsOf(found, entry.rows, skip, left) : wholeRun(entry.rows, skip, left)
      skip -= runs.skipped
      left -= runs.rows
      if (runs.rows > 0) {
        const indices = picks.map(({ path }) => path[0]!)
        const { columns } = await readColumns(storage, prefix, schema, entry, indices)
        answer.add(pickColumns(picks, columns), runs.runs, runs.rows)
      }
    }
    onProgress?.({ rowsDone, rowsTotal })
    if (pace.due) await pace.rest()
  }
  signal?.throwIfAborted()
  return answer.encode(schema.metadata)
}

async function readFragment(
  storage: Storage,
  { prefix, schema }: LoadedSnapshot,
  entry: FragmentEntry,
  predicate: Predicate | undefined,
) {
  const verdict = predicate ? prune(predicate, schema, entry) : 'all'
  if (verdict !== 'some' || !predicate) return { entry, verdict }
  const [rows, live] = await Promise.all([
    readColumns(storage, prefix, schema, entry, predicate.columns),
    readLive(storage, prefix, entry),
  ])
  return { entry, verdict, rows, live }
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
