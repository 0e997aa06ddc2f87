import { type AnyBatch, byteLength } from '../../arrow/batch.ts'
import { type Bitmap, noRows } from '../../arrow/bitmap.ts'
import { type Piece, wholeOf } from '../../arrow/take/take.ts'
import type { WorkBudget } from '../../predicate/index.ts'
import { prefetch } from '../../scheduling/prefetch.ts'
import type { TimeSlice } from '../../scheduling/time-slice.ts'
import { readLive } from '../format/deletions.ts'
import type { FragmentEntry } from '../format/manifest.ts'
import type { TableSchema } from '../format/table-schema.ts'
import { evaluateValues } from '../scan/expression.ts'
import { type Placed, rowNumbers } from '../scan/row-columns.ts'
import type { Storage } from '../storage/objects.ts'
import { type FewRows, planFewRows } from './few-rows.ts'
import { type FragmentRows, readColumns } from './fragment-read.ts'
import { batchAt, type Pick } from './projection.ts'

/** Rows for which expressions are evaluated at once, so that the memory of their values is bounded. */
const chunkRows = 16_384

/** Some rows of a fragment: the pieces of each column of the answer. */
export interface MadeRows {
  readonly pieces: readonly (readonly Piece[])[]
  readonly rows: number
  /** Bytes of what was computed. */
  readonly bytes: number
}

/** Rows that are wanted of a fragment. */
export interface WantedRows {
  readonly entry: FragmentEntry & Required<Placed>
  readonly selection: { readonly runs: ArrayLike<number>; readonly rows: number }
}

/** Fragments of which few rows are read ahead at most, and about the most bytes of them. */
const mostAhead = 8
const aheadBytes = 32 << 20

/** Makes the columns of an answer, of what lies in fragments and of what is computed from it. */
export class ColumnMaker {
  readonly #storage: Storage
  readonly #prefix: string
  readonly #schema: TableSchema
  readonly #picks: readonly Pick[]
  readonly #indices: ReadonlySet<number>
  readonly #budgets: readonly (WorkBudget | undefined)[]
  readonly #timeSlice: TimeSlice

  constructor(
    storage: Storage,
    { prefix, schema }: { readonly prefix: string; readonly schema: TableSchema },
    picks: readonly Pick[],
    indices: ReadonlySet<number>,
    timeSlice: TimeSlice,
  ) {
    this.#storage = storage
    this.#prefix = prefix
    this.#schema = schema
    this.#picks = picks
    this.#indices = indices
    this.#budgets = picks.map(({ expression }) => expression?.budget())
    this.#timeSlice = timeSlice
  }

  /**
   * The rows that are wanted of fragments, one fragment after the other. Where they are few, those of the next fragments
   * are read meanwhile.
   */
  async *rowsOf<T extends WantedRows>(
    fragments: AsyncIterable<T> | Iterable<T>,
  ): AsyncGenerator<{
    readonly wanted: T
    /** About the bytes that are read for them where they are few. */
    readonly bytes: number | undefined
    readonly made: AsyncGenerator<MadeRows>
  }> {
    const ahead = { depth: 0 }
    const begin = async (wanted: T) => {
      const { entry, selection } = wanted
      const { runs, rows } = selection
      const few = planFewRows(this.#storage, this.#prefix, this.#schema, entry, this.#indices, runs, rows)
      ahead.depth = few ? Math.min(mostAhead, Math.floor(aheadBytes / Math.max(1, few.bytes))) : 0
      return { wanted, few, read: few && (await this.#read(entry, few)) }
    }
    for await (const { wanted, few, read } of prefetch(fragments, begin, ahead)) {
      yield { wanted, bytes: few?.bytes, made: this.#make(wanted, few, read) }
    }
  }

  #read(entry: WantedRows['entry'], few: FewRows | undefined): Promise<FragmentRows> {
    return readColumns(this.#storage, this.#prefix, this.#schema, entry, this.#indices, few)
  }

  /** Rows of a fragment. Those for which something is computed come in several parts. */
  async *#make(
    { entry, selection }: WantedRows,
    few: FewRows | undefined,
    early: FragmentRows | undefined,
  ): AsyncGenerator<MadeRows> {
    const read = early ?? (await this.#read(entry, few))
    const { rows } = selection
    const runs = few ? [0, rows] : selection.runs
    const columns = this.#picks.map(({ path, field }) => path && batchAt(path, field.name, read.columns))
    if (columns.every((batch) => batch !== undefined)) {
      yield { pieces: columns.map((batch) => [{ batch, runs }]), rows, bytes: 0 }
      return
    }
    const numberIn = rowNumbers(entry.liveBefore, await readLive(this.#storage, this.#prefix, entry))
    const numberOf = few ? (row: number) => numberIn(rowIn(few.runs, row)) : numberIn
    let next = 0
    for (let start = 0; start < read.length && next < runs.length; start += chunkRows) {
      const end = Math.min(read.length, start + chunkRows)
      while (next < runs.length && runs[next + 1]! <= start) next += 2
      const inside = clipped(runs, next, start, end)
      if (inside.length === 0) continue
      const live = maskOf(inside, start, end)
      const pieces: (readonly Piece[])[] = []
      let bytes = 0
      for (const [i, { expression }] of this.#picks.entries()) {
        const batch = columns[i]
        if (batch !== undefined) {
          pieces.push([{ batch, runs: inside }])
          continue
        }
        const options = { live, budget: this.#budgets[i]!, numberOf }
        const made = await evaluateValues(expression!, read, this.#timeSlice, options, start, end)
        bytes += byteLength(made)
        pieces.push([wholeOf(made)])
      }
      let count = 0
      for (let i = 0; i < inside.length; i += 2) count += inside[i + 1]! - inside[i]!
      yield { pieces, rows: count, bytes }
    }
  }

  /** The columns at paths, for the keys of an order. */
  async columnsAt(
    entry: FragmentEntry & Placed,
    paths: readonly { readonly path: readonly number[]; readonly name: string }[],
  ): Promise<readonly AnyBatch[]> {
    const indices = new Set(paths.map(({ path }) => path[0]!))
    const { columns } = await readColumns(this.#storage, this.#prefix, this.#schema, entry, indices)
    return paths.map(({ path, name }) => batchAt(path, name, columns))
  }
}

/** The row at a place among those of runs. */
function rowIn(runs: ArrayLike<number>, place: number): number {
  let left = place
  let i = 0
  for (; left >= runs[i + 1]! - runs[i]!; i += 2) left -= runs[i + 1]! - runs[i]!
  return runs[i]! + left
}

/** The parts of runs, from one of them on, that lie from `start` to `end`. */
function clipped(runs: ArrayLike<number>, first: number, start: number, end: number): number[] {
  const inside: number[] = []
  for (let i = first; i < runs.length && runs[i]! < end; i += 2) {
    const from = Math.max(runs[i]!, start)
    const to = Math.min(runs[i + 1]!, end)
    if (from < to) inside.push(from, to)
  }
  return inside
}

/** The rows of runs as a bitmap whose bit 0 is row `start`. */
function maskOf(runs: readonly number[], start: number, end: number): Bitmap {
  const mask = noRows(end - start)
  for (let i = 0; i < runs.length; i += 2) {
    for (let row = runs[i]! - start; row < runs[i + 1]! - start; row++) mask[row >>> 5]! |= 1 << (row & 31)
  }
  return mask
}
