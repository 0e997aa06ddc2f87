import type { AnyBatch, AnyColumn } from '../../arrow/batch.ts'
import {
  allRows,
  type Bitmap,
  clearRange,
  countRows,
  forEachRow,
  hasRow,
  isEmpty,
} from '../../arrow/bitmap.ts'
import { bytesInUse } from '../../arrow/cast/cast-size.ts'
import { assembleColumns, part } from '../../arrow/take/assemble-columns.ts'
import { type Piece, wholeOf } from '../../arrow/take/take.ts'
import { withoutRows } from '../format/deletions.ts'
import type { FragmentEntry } from '../format/manifest.ts'
import type { TableFiles } from '../format/table-schema.ts'
import type { Job } from '../job.ts'
import { rowsOfFragment, writeFragment } from './write-rows.ts'

/** Batches that are kept before they are joined. */
const maxBatches = 256

/**
 * Most bytes of a fragment of rows that are added in small parts. They are in memory twice while they are joined, so
 * these fragments are smaller than others.
 */
const fragmentBytes = 32 << 20

/**
 * Writes rows that are added in small parts as fragments. Each row has a position, counted from the first one. Rows
 * that a later base does not need are marked as deleted, so that no row is written twice.
 */
export class RowWriter {
  /** How many rows were added. */
  rows = 0
  readonly #table: TableFiles
  readonly #written: FragmentEntry[] = []
  /** Rows that are not written yet, by columns. */
  #pending: Piece[][]
  #pendingRows = 0
  /** About how many bytes they take. */
  #pendingBytes = 0
  /** Their dictionaries: rows of one fragment share theirs. */
  #dictionaries = new Set<AnyColumn>()
  #fragmentRows = Number.POSITIVE_INFINITY

  constructor(table: TableFiles) {
    this.#table = table
    this.#pending = table.schema.fields.map(() => [])
  }

  /** The paths of the fragments written so far. */
  get paths(): string[] {
    return this.#written.map(({ path }) => path)
  }

  /** Adds rows: a batch for each column. */
  async add(job: Job, batches: readonly AnyBatch[]): Promise<void> {
    const { length } = batches[0]!
    this.rows += length
    this.#pendingRows += length
    for (const [i, batch] of batches.entries()) {
      this.#pending[i]!.push(wholeOf(batch))
      this.#pendingBytes += bytesInUse(batch, this.#dictionaries)
    }
    const perRow = this.#pendingBytes / this.#pendingRows
    this.#fragmentRows = rowsOfFragment(perRow, job.storage.fragmentRows, fragmentBytes)
    while (this.#pendingRows >= this.#fragmentRows) await this.#write(job, this.#fragmentRows)
    if (this.#pending[0]!.length >= maxBatches) this.#join()
  }

  /** The fragments of all rows. Rows that are not written yet are written first. */
  async allFragments(job: Job): Promise<readonly FragmentEntry[]> {
    while (this.#pendingRows > 0) await this.#write(job, Math.min(this.#fragmentRows, this.#pendingRows))
    return this.#written
  }

  /** The fragments of all rows, where those that `live` lacks are deleted. */
  async fragmentsOf(job: Job, livePositions: LivePositions): Promise<readonly FragmentEntry[]> {
    await this.allFragments(job)
    const deleted = livePositions.unused(this.rows)
    if (isEmpty(deleted)) return this.#written
    return withoutRows(job.storage, this.#table.prefix, this.#written, deleted)
  }

  async #write(job: Job, rows: number): Promise<void> {
    for (const batches of assembleColumns(this.#table.schema.fields, this.#take(rows))) {
      this.#written.push(await writeFragment(job, this.#table, batches))
      if (job.due) await job.rest()
    }
  }

  /** Removes and returns the pieces of the first rows, which are freed once they are joined. */
  #take(rows: number): Piece[][] {
    const all = this.#pendingRows
    const pieces = this.#pending.map((column) => part(column, 0, rows))
    this.#pending = this.#pending.map((column) => part(column, rows, all))
    this.#pendingBytes *= 1 - rows / all
    this.#dictionaries = new Set()
    this.#pendingRows -= rows
    return pieces
  }

  #join(): void {
    const joined = assembleColumns(this.#table.schema.fields, this.#pending)
    this.#pending = this.#pending.map((_, i) => joined.map((batches) => wholeOf(batches[i]!)))
  }
}

/** The positions of rows that a base needs. */
export class LivePositions {
  readonly #ranges: { readonly start: number; readonly rows: Bitmap; readonly left: Bitmap }[] = []
  readonly #numbers: { readonly numbers: Int32Array; readonly positions: Int32Array }[] = []

  /** Adds those rows that are `left` of the rows whose positions begin at `start`. */
  add(start: number, rows: Bitmap, left: Bitmap): void {
    this.#ranges.push({ start, rows, left })
  }

  /** Adds the positions of some rows, by their numbers. */
  addNumbers(numbers: Int32Array, positions: Int32Array): void {
    this.#numbers.push({ numbers, positions })
  }

  /** All other positions. */
  unused(rows: number): Bitmap {
    const unused = allRows(rows)
    const keepPosition = (position: number) => {
      unused[position >>> 5]! &= ~(1 << (position & 31))
    }
    for (const { start, rows, left } of this.#ranges) {
      if (left === rows) {
        clearRange(unused, start, start + countRows(rows))
        continue
      }
      let position = start
      forEachRow(rows, (row) => {
        if (hasRow(left, row)) keepPosition(position)
        position++
      })
    }
    for (const { numbers, positions } of this.#numbers) {
      for (let i = 0; i < numbers.length; i++) keepPosition(positions[numbers[i]!]!)
    }
    return unused
  }
}
