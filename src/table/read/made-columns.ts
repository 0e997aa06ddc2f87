import type { Schema } from '@uwdata/flechette'
import { type AnyBatch, byteLength } from '../../arrow/batch.ts'
import { type Bitmap, noRows } from '../../arrow/bitmap.ts'
import { type Piece, wholeOf } from '../../arrow/take/take.ts'
import type { WorkBudget } from '../../predicate/index.ts'
import type { TimeSlice } from '../../scheduling/time-slice.ts'
import { readLive } from '../format/deletions.ts'
import type { FragmentEntry } from '../format/manifest.ts'
import { evaluateValues } from '../scan/expression.ts'
import { type Placed, rowNumbers } from '../scan/row-columns.ts'
import type { Storage } from '../storage/objects.ts'
import { readColumns } from './fragment-read.ts'
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

/** Makes the columns of an answer, of what lies in fragments and of what is computed from it. */
export class ColumnMaker {
  readonly #storage: Storage
  readonly #prefix: string
  readonly #schema: Schema
  readonly #picks: readonly Pick[]
  readonly #indices: ReadonlySet<number>
  readonly #budgets: readonly (WorkBudget | undefined)[]
  readonly #timeSlice: TimeSlice

  constructor(
    storage: Storage,
    { prefix, schema }: { readonly prefix: string; readonly schema: Schema },
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

  /** Rows of a fragment, given as runs. Those for which something is computed come in several parts. */
  async *rowsOf(
    entry: FragmentEntry & Required<Placed>,
    runs: ArrayLike<number>,
    rows: number,
  ): AsyncGenerator<MadeRows> {
    const read = await readColumns(this.#storage, this.#prefix, this.#schema, entry, this.#indices)
    const columns = this.#picks.map(({ path, field }) => path && batchAt(path, field.name, read.columns))
    if (columns.every((batch) => batch !== undefined)) {
      yield { pieces: columns.map((batch) => [{ batch, runs }]), rows, bytes: 0 }
      return
    }
    const numberOf = rowNumbers(entry.liveBefore, await readLive(this.#storage, this.#prefix, entry))
    let next = 0
    for (let start = 0; start < entry.rows && next < runs.length; start += chunkRows) {
      const end = Math.min(entry.rows, start + chunkRows)
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
