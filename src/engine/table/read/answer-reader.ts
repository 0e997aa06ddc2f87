import type { DataType } from '@uwdata/flechette'
import { type CatalogError, invalid } from '../../../base/errors.ts'
import { prefetch } from '../../../base/scheduling/prefetch.ts'
import { type AnyBatch, byteLength } from '../../arrow/batch.ts'
import { type Bitmap, noRows } from '../../arrow/bitmap.ts'
import { layoutOf } from '../../arrow/layout.ts'
import { part } from '../../arrow/take/assemble-columns.ts'
import { type Piece, wholeOf } from '../../arrow/take/take.ts'
import type { WorkBudget } from '../../predicate/index.ts'
import { readLive } from '../format/deletions.ts'
import type { FragmentEntry } from '../format/manifest.ts'
import type { TableFiles } from '../format/table-schema.ts'
import type { Job } from '../job.ts'
import { walk } from '../scan/evaluate.ts'
import { type FragmentPosition, rowNumbers } from '../scan/row-columns.ts'
import { type FewRows, planFewRows } from './few-rows.ts'
import { type FragmentRows, readColumns } from './fragment-read.ts'
import { batchAt, type Pick } from './projection.ts'

/** Rows for which expressions are evaluated at once, so that the memory of their values is bounded. */
const chunkRows = 16_384

/** About the most bytes of values that are computed at once, unless one row has more. */
export const partBytes = 16 << 20

/** Most bytes of computed values of one row. All of them are in memory before any of them is written. */
export const maxBytesOfRow = 256 << 20

/**
 * How many rows to compute of the next columns, if the previous ones took `bytes` for `rows` instead of `most`.
 * Evaluation computes several rows at once, so a column may exceed its share.
 */
export function rowsThatFit(rows: number, bytes: number, most: number): number {
  return bytes <= 2 * most ? rows : Math.max(1, Math.floor((rows * most) / bytes))
}

/** Some rows of a fragment: the pieces of each column of the answer. */
export interface AnswerRows {
  readonly pieces: readonly (readonly Piece[])[]
  readonly rows: number
  /** Bytes of computed values. */
  readonly bytes: number
}

/** Rows that are wanted of a fragment. */
export interface WantedRows {
  readonly entry: FragmentEntry & Required<FragmentPosition>
  readonly selection: { readonly runs: ArrayLike<number>; readonly rows: number }
}

/** Most fragments to read ahead if few of their rows are needed, and about the most bytes of these. */
const maxAhead = 8
const aheadBytes = 32 << 20

/** Called with the bytes that were computed for a column of the answer. May delay the work, or refuse it. */
export type OnComputed = (pick: number, bytes: number) => Promise<void> | undefined

/** Reads the columns of an answer from fragments, and computes others from them. */
export class AnswerReader {
  readonly #job: Job
  readonly #table: TableFiles
  readonly #picks: readonly Pick[]
  readonly #indices: ReadonlySet<number>
  readonly #budgets: readonly (WorkBudget | undefined)[]
  readonly #onComputed: OnComputed | undefined

  /** `onComputed` is called for each column that was computed for some rows, before the next column is. */
  constructor(
    job: Job,
    table: TableFiles,
    picks: readonly Pick[],
    indices: ReadonlySet<number>,
    onComputed?: OnComputed,
  ) {
    this.#onComputed = onComputed
    this.#job = job
    this.#table = table
    this.#picks = picks
    this.#indices = indices
    this.#budgets = picks.map(({ expression }) => expression?.budget())
  }

  /** A reader of some of the columns. */
  only(picks: readonly number[]): AnswerReader {
    if (picks.length === this.#picks.length) return this
    const some = picks.map((pick) => this.#picks[pick]!)
    const onComputed = this.#onComputed
    return new AnswerReader(
      this.#job,
      this.#table,
      some,
      columnsRead(some),
      onComputed && ((pick, bytes) => onComputed(picks[pick]!, bytes)),
    )
  }

  /** The wanted rows of fragments, one fragment after the other. Few rows of the next fragments are read meanwhile. */
  async *rowsOf<T extends WantedRows>(
    fragments: AsyncIterable<T> | Iterable<T>,
  ): AsyncGenerator<{
    readonly wanted: T
    /** About the bytes to read for the rows, if they are few. */
    readonly bytes: number | undefined
    readonly made: AsyncGenerator<AnswerRows>
  }> {
    const ahead = { depth: 0 }
    const { storage } = this.#job
    const begin = async (wanted: T) => {
      const { entry, selection } = wanted
      const few = planFewRows(storage, this.#table, entry, this.#indices, selection)
      ahead.depth = few ? Math.min(maxAhead, Math.floor(aheadBytes / Math.max(1, few.bytes))) : 0
      return {
        wanted,
        few,
        read: few && (await readColumns(storage, this.#table, entry, this.#indices, few)),
      }
    }
    for await (const { wanted, few, read } of prefetch(fragments, begin, ahead)) {
      yield { wanted, bytes: few?.bytes, made: this.#make(wanted, few, read) }
    }
  }

  /** Rows of a fragment, in several parts if anything is computed for them. */
  async *#make(
    { entry, selection }: WantedRows,
    few: FewRows | undefined,
    early: FragmentRows | undefined,
  ): AsyncGenerator<AnswerRows> {
    const read = early ?? (await readColumns(this.#job.storage, this.#table, entry, this.#indices, few))
    const { rows } = selection
    const runs = few ? [0, rows] : selection.runs
    const columns = this.#picks.map(({ path, field }) => path && batchAt(path, field.name, read.columns))
    if (columns.every((batch) => batch !== undefined)) {
      yield { pieces: columns.map((batch) => [{ batch, runs }]), rows, bytes: 0 }
      return
    }
    const live = await readLive(this.#job.storage, this.#table.prefix, entry)
    const numberIn = rowNumbers(entry.liveBefore, live)
    const numberOf = few ? (row: number) => numberIn(rowIn(few.runs, row)) : numberIn
    const computed = this.#picks.filter((_, i) => columns[i] === undefined)
    const width = computed.reduce((sum, { field }) => sum + bytesOfValue(field.type), 0)
    const maxRows = Math.max(32, Math.min(chunkRows, Math.floor(partBytes / width)))
    let next = 0
    let wanted = maxRows
    for (let start = 0; next < runs.length; ) {
      const from = Math.max(start, runs[next]!)
      const requested = clipped(runs, next, from, Math.min(read.length, from + wanted))
      const { made, inside, bytes } = await this.#compute(read, columns, requested, numberOf)
      const rows = rowsIn(inside)
      const pieces = made.map((batch, i) =>
        batch === undefined ? [{ batch: columns[i]!, runs: inside }] : part([wholeOf(batch)], 0, rows),
      )
      yield { pieces, rows, bytes }
      start = inside[inside.length - 1]!
      // After long values, the next part computes other columns for few more rows.
      wanted = Math.min(maxRows, Math.max(1, 4 * (start - from)))
      while (next < runs.length && runs[next + 1]! <= start) next += 2
    }
  }

  /**
   * Computes the columns that were not read, for the rows of runs. If the values take many bytes, only for the first of
   * these rows, which are `inside`; columns that were computed before may have more.
   */
  async #compute(
    read: FragmentRows,
    columns: readonly (AnyBatch | undefined)[],
    requested: readonly number[],
    numberOf: (row: number) => number,
  ): Promise<{ made: (AnyBatch | undefined)[]; inside: readonly number[]; bytes: number }> {
    // Evaluation begins at a multiple of 32.
    const first = requested[0]! & ~31
    let inside = requested
    let end = inside[inside.length - 1]!
    let live = maskOf(inside, first, end)
    let count = rowsIn(inside)
    const made: (AnyBatch | undefined)[] = []
    let bytes = 0
    let columnsMade = 0
    const mostBytes = Math.max(1, partBytes / columns.filter((batch) => batch === undefined).length)
    for (const [i, { expression }] of this.#picks.entries()) {
      if (columns[i] !== undefined) {
        made.push(undefined)
        continue
      }
      const options = { live, budget: this.#budgets[i]!, numberOf, mostBytes }
      const batch = await walk(expression!.steps(read, first, end, options), this.#job)
      const taken = this.#onComputed?.(i, byteLength(batch))
      if (taken) await taken
      bytes += byteLength(batch)
      if (bytes > maxBytesOfRow) throw rowTooLarge()
      made.push(batch)
      const fit = rowsThatFit(Math.min(count, batch.length), bytes, ++columnsMade * mostBytes)
      if (fit === count) continue
      count = fit
      inside = firstRows(inside, count)
      end = inside[inside.length - 1]!
      live = maskOf(inside, first, end)
    }
    return { made, inside, bytes }
  }

  /** The columns at paths, for sort keys. */
  async columnsAt(
    entry: FragmentEntry & FragmentPosition,
    paths: readonly { readonly path: readonly number[]; readonly name: string }[],
  ): Promise<readonly AnyBatch[]> {
    const indices = new Set(paths.map(({ path }) => path[0]!))
    const { columns } = await readColumns(this.#job.storage, this.#table, entry, indices)
    return paths.map(({ path, name }) => batchAt(path, name, columns))
  }
}

/** The columns of the table to read for columns of an answer, and the row columns after them. */
export function columnsRead(picks: readonly Pick[]): ReadonlySet<number> {
  return new Set(picks.flatMap(({ path, expression }) => expression?.columns ?? [path![0]!]))
}

function rowTooLarge(): CatalogError {
  return invalid(
    `The columns that the query computes of one row take more than ${maxBytesOfRow.toLocaleString('en')} bytes, the most of one row. Compute fewer of them at a time, or shorter values.`,
  )
}

/** The row at a position among those of the runs. */
export function rowIn(runs: ArrayLike<number>, position: number): number {
  let left = position
  let i = 0
  for (; left >= runs[i + 1]! - runs[i]!; i += 2) left -= runs[i + 1]! - runs[i]!
  return runs[i]! + left
}

/** The parts of runs, from index `first` on, between `start` and `end`. */
function clipped(runs: ArrayLike<number>, first: number, start: number, end: number): number[] {
  const inside: number[] = []
  for (let i = first; i < runs.length && runs[i]! < end; i += 2) {
    const from = Math.max(runs[i]!, start)
    const to = Math.min(runs[i + 1]!, end)
    if (from < to) inside.push(from, to)
  }
  return inside
}

function rowsIn(runs: readonly number[]): number {
  let count = 0
  for (let i = 0; i < runs.length; i += 2) count += runs[i + 1]! - runs[i]!
  return count
}

function firstRows(runs: readonly number[], count: number): number[] {
  const first: number[] = []
  for (let i = 0; count > 0; i += 2) {
    const rows = Math.min(count, runs[i + 1]! - runs[i]!)
    first.push(runs[i]!, runs[i]! + rows)
    count -= rows
  }
  return first
}

/** Bytes of a computed value, and of its offset. */
function bytesOfValue(type: DataType): number {
  const layout = layoutOf(type)
  return layout.kind === 'fixed' ? layout.bytes : 8
}

/** The rows of runs as a bitmap whose bit 0 is row `start`. */
function maskOf(runs: readonly number[], start: number, end: number): Bitmap {
  const mask = noRows(end - start)
  for (let i = 0; i < runs.length; i += 2) {
    for (let row = runs[i]! - start; row < runs[i + 1]! - start; row++) mask[row >>> 5]! |= 1 << (row & 31)
  }
  return mask
}
