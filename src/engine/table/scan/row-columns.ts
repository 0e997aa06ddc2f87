import { type Field, type Schema, uint64 } from '@uwdata/flechette'
import { type CatalogError, unsupported } from '../../../base/errors.ts'
import { withMembers } from '../../../base/with-members.ts'
import { type AnyBatch, makeBatch } from '../../arrow/batch.ts'
import { addRow, type Bitmap, bitsOf, clearTrailing, countRows, hasRow, noRows } from '../../arrow/bitmap.ts'
import { rowsOfRuns } from '../../arrow/take/runs.ts'
import type { ColumnStatistics } from '../../predicate/prune/statistics.ts'
import type { FragmentEntry, FragmentLayout } from '../format/manifest.ts'

/*
 * Columns that are not in files: `_rowid`, which identifies a row, and `_rowoffset`, its position among the rows of a
 * version. They follow the columns of the table, at fixed indices, for texts that name them.
 */

const columnOf = (name: string): Field => ({ name, type: uint64(), nullable: true, metadata: new Map() })

/** The columns, in the order of their indices. */
export const rowColumns: readonly Field[] = [columnOf('_rowid'), columnOf('_rowoffset')]

const named = /_row(?:id|offset)/i

/** The schema that a text is bound to: the table's, with row columns if the text may name them. */
export function bindingSchema(schema: Schema, text: string): Schema {
  return named.test(text) ? withRowColumns(schema) : schema
}

const extended = new WeakMap<readonly Field[], Field[]>()

/** The schema with the row columns. A column of the table with such a name has priority. */
export function withRowColumns(schema: Schema): Schema {
  // The same fields each time: what is made of them is kept by them.
  let fields = extended.get(schema.fields)
  if (fields === undefined) {
    fields = [...schema.fields, ...rowColumns]
    extended.set(schema.fields, fields)
  }
  return { ...schema, fields }
}

/** A fragment's position in a version. */
export interface FragmentPosition {
  /** How many live rows precede it. Set if an expression reads `_rowoffset`. */
  readonly liveBefore?: number
}

/** Whether `_rowoffset` is among columns. */
export function readsOffsets(schema: Schema, columns: readonly number[]): boolean {
  return columns.includes(schema.fields.length + 1)
}

/** Refuses `_rowoffset` in what a change reads, also where no row has to be read for it. */
export function refuseOffsets(schema: Schema, columns: readonly number[]): void {
  if (readsOffsets(schema, columns)) throw offsetsInChange()
}

function offsetsInChange(): CatalogError {
  return unsupported(
    '_rowoffset is the place of a row in one version, so only queries and counts can read it.',
    'Name rows by _rowid.',
  )
}

/** Adds positions to fragments, so that `_rowoffset` can be read. */
export async function* withPositions(
  entries: AsyncIterable<FragmentEntry> | Iterable<FragmentEntry>,
): AsyncGenerator<FragmentEntry & FragmentPosition> {
  let liveBefore = 0
  for await (const entry of entries) {
    yield withMembers(entry, { liveBefore })
    liveBefore += liveRowsOf(entry)
  }
}

/**
 * The numbers of a fragment's rows in errors: like `_rowoffset`, positions among the live rows. `liveBefore` is the
 * number of live rows before the fragment.
 */
export function rowNumbers(liveBefore: number, live: Bitmap | undefined): (row: number) => number {
  if (live === undefined) return (row) => liveBefore + row
  return (row) => {
    const before = live.slice(0, (row + 31) >>> 5)
    if (before.length > 0) clearTrailing(before, row)
    return liveBefore + countRows(before)
  }
}

/** The number of live rows of a fragment. */
export function liveRowsOf({ rows, deletions }: Pick<FragmentEntry, 'rows' | 'deletions'>): number {
  return rows - (deletions?.count ?? 0)
}

/** A row column, for all rows or those in runs; `which` is its index among the row columns. */
export function rowColumn(
  entry: FragmentLayout & FragmentPosition,
  which: number,
  live: Bitmap | undefined,
  runs: ArrayLike<number> = [0, entry.rows],
): AnyBatch {
  const length = rowsOfRuns(runs)
  const values = new BigUint64Array(length)
  let at = 0
  if (which === 0) {
    const first = BigInt(entry.firstId ?? 0)
    for (let i = 0; i < runs.length; i += 2) {
      for (let row = runs[i]!; row < runs[i + 1]!; row++) values[at++] = first + BigInt(row)
    }
  } else {
    const { liveBefore } = entry
    if (liveBefore === undefined) throw offsetsInChange()
    let next = BigInt(liveBefore)
    let end = 0
    for (let i = 0; i < runs.length; i += 2) {
      next += BigInt(live === undefined ? runs[i]! - end : liveBetween(live, end, runs[i]!))
      end = runs[i + 1]!
      for (let row = runs[i]!; row < end; row++) {
        values[at++] = next
        if (live === undefined || hasRow(live, row)) next++
      }
    }
  }
  return makeBatch(rowColumns[which]!.type, { length, values })
}

/** How many rows are live from `start` up to `end`. */
function liveBetween(live: Bitmap, start: number, end: number): number {
  let count = 0
  let row = start
  for (; row < end && (row & 31) !== 0; row++) if (hasRow(live, row)) count++
  for (; row + 32 <= end; row += 32) count += bitsOf(live[row >>> 5]!)
  for (; row < end; row++) if (hasRow(live, row)) count++
  return count
}

/** Statistics of a row column, without reading the fragment. */
export function rowStatistics(
  entry: FragmentEntry & FragmentPosition,
  which: number,
): ColumnStatistics | undefined {
  if (which === 0) {
    const first = entry.firstId ?? 0
    return { nullCount: 0, min: BigInt(first), max: BigInt(first + entry.rows - 1) }
  }
  const { liveBefore } = entry
  if (liveBefore === undefined) return undefined
  // Deleted rows count as the row that follows them.
  const last = liveBefore + liveRowsOf(entry)
  return { nullCount: 0, min: BigInt(liveBefore), max: BigInt(last) }
}

/** Finds the rows of a predicate that only names rows by their ids or offsets. */
class NamedRows {
  readonly #which: number
  readonly #names: Float64Array

  constructor(which: number, names: readonly bigint[]) {
    this.#which = which
    this.#names = Float64Array.from(names, Number).sort()
  }

  /** The live ones in a fragment. */
  in(entry: FragmentEntry & FragmentPosition, live: Bitmap | undefined): Bitmap {
    const found = noRows(entry.rows)
    const first = this.#which === 0 ? (entry.firstId ?? 0) : entry.liveBefore!
    const names = this.#names
    let at = 0
    for (let end = names.length; at < end; ) {
      const middle = (at + end) >>> 1
      if (names[middle]! < first) at = middle + 1
      else end = middle
    }
    if (this.#which === 0 || live === undefined) {
      for (; at < names.length && names[at]! - first < entry.rows; at++) {
        const row = names[at]! - first
        if (live === undefined || hasRow(live, row)) addRow(found, row)
      }
      return found
    }
    // Live rows are counted word by word.
    let before = first
    for (let q = 0; q < live.length && at < names.length; q++) {
      const last = before + bitsOf(live[q]!)
      for (let word = live[q]!; word !== 0 && at < names.length && names[at]! < last; word &= word - 1) {
        if (names[at]! === before) found[q]! |= word & -word
        while (names[at] === before) at++
        before++
      }
      before = last
    }
    return found
  }
}

/** The rows that a predicate names; undefined for any other predicate. */
export function namedRows(
  schema: Schema,
  membership: { readonly column: number; readonly values: readonly unknown[] } | undefined,
): NamedRows | undefined {
  const which = (membership?.column ?? -1) - schema.fields.length
  if (membership === undefined || which < 0) return undefined
  return new NamedRows(which, membership.values as readonly bigint[])
}
