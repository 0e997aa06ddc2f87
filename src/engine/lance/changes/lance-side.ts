import type { Schema, Table } from '@uwdata/flechette'
import type { AnyBatch } from '../../arrow/batch.ts'
import { hasRow } from '../../arrow/bitmap.ts'
import { RunBuilder } from '../../arrow/take/runs.ts'
import type { Piece } from '../../arrow/take/take.ts'
import type {
  ChangedSide,
  ChangedValues,
  ReadRows,
  SideColumn,
  WantedChanges,
} from '../../table/changes/changed-side.ts'
import { kindColumn, nullColumn } from '../../table/changes/repeated-values.ts'
import { asType } from '../../table/changes/row-hashes.ts'
import { piecesOf, type RowSelection } from '../../table/read/row-selection.ts'
import { type LanceFragment, unlikeManifest } from './fragments.ts'
import { type Span, spansOf } from './spans.ts'

/** The column with the addresses of rows: the number of the fragment, and of the row in it. */
export const addressColumn = '_rowaddr'

/** Reads columns of so many rows of a version, from a position on, in batches. */
export type ReadSpan = (
  columns: readonly string[],
  span: Pick<Span, 'start' | 'end'>,
) => AsyncIterable<{ readonly table: Table; readonly bytes: number }>

/** Changed rows of one fragment in a batch. */
interface FoundRows {
  readonly fragment: LanceFragment
  readonly table: Table
  readonly bytes: number
  /** Where the rows are in the batch, and their numbers in the fragment. */
  readonly places: Uint32Array
  readonly rows: Uint32Array
}

/** Rows of one version that Lance wrote. Their positions are known, so only the changed ones are read. */
export class LanceSide implements ChangedSide {
  readonly schema: Schema
  readonly fragments: readonly LanceFragment[]
  readonly #read: ReadSpan
  readonly #shown: string

  constructor(
    { schema, shown }: { readonly schema: Schema; readonly shown: string },
    fragments: readonly LanceFragment[],
    read: ReadSpan,
  ) {
    this.schema = schema
    this.fragments = fragments
    this.#read = read
    this.#shown = shown
  }

  async *values(columns: readonly SideColumn[]): AsyncGenerator<ChangedValues> {
    for (const span of spansOf(this.fragments)) {
      for await (const { fragment, table, places, rows } of this.#rowsOf(span, columns, [])) {
        yield { fragment, rows, batches: batchesOf(columns, table), at: (i) => places[i]! }
      }
    }
  }

  async *answers({ columns, kinds, range, withRowId }: WantedChanges): AsyncGenerator<ReadRows> {
    const more = withRowId ? ['_rowid'] : []
    for (const span of spansOf(this.fragments)) {
      if (range.left <= 0) return
      if (span.rows <= range.skip) {
        range.skip -= span.rows
        continue
      }
      for await (const found of this.#rowsOf(span, columns, more)) {
        const start = Math.min(range.skip, found.rows.length)
        range.skip -= start
        const end = Math.min(found.rows.length, start + range.left)
        range.left -= end - start
        if (end === start) continue
        const selection = selectionOf(found.places.subarray(start, end))
        const batches = batchesOf(columns, found.table)
        const pieces = columns.map(({ type }, i) => {
          const batch = batches[i]
          return batch ? piecesOf(batch, selection) : nullColumn(type, end - start)
        })
        if (withRowId) pieces.push(piecesOf(batchOf(found.table.getChild('_rowid')), selection))
        pieces.push(kindsOf(found, kinds, start, end))
        const perRow = found.bytes / Math.max(1, found.table.numRows) + kinds.updated.length + 4
        yield { pieces, rows: end - start, perRow, bytes: found.bytes }
      }
    }
  }

  /** The changed rows of a span, fragment by fragment, with some columns. */
  async *#rowsOf(
    span: Span,
    columns: readonly SideColumn[],
    more: readonly string[],
  ): AsyncGenerator<FoundRows> {
    const names = columns.flatMap(({ index, name }) => (index === undefined ? [] : [name]))
    const byId = new Map(span.fragments.map((fragment) => [fragment.id, fragment]))
    let found = 0
    for await (const { table, bytes } of this.#read([...names, ...more, addressColumn], span)) {
      const addresses = addressesOf(table)
      for (let at = 0; at < table.numRows; ) {
        const id = addresses[at * 2 + 1]!
        let end = at + 1
        while (end < table.numRows && addresses[end * 2 + 1] === id) end++
        const fragment = byId.get(id)
        if (fragment) {
          const { places, rows } = changedAmong(fragment, addresses, at, end)
          found += rows.length
          if (rows.length > 0) yield { fragment, table, bytes, places, rows }
        }
        at = end
      }
    }
    if (found !== span.rows) throw unlikeManifest({ shown: this.#shown })
  }
}

/** The addresses of the rows of a batch, each as its lower and its upper half. */
export function addressesOf(table: Table): Uint32Array {
  const { values } = batchOf(table.getChild(addressColumn))
  const { buffer, byteOffset } = values as BigUint64Array
  return new Uint32Array(buffer, byteOffset, table.numRows * 2)
}

/** A batch of Lance has one batch of each column. */
function batchOf(column: { readonly data: unknown }): AnyBatch {
  return (column.data as readonly AnyBatch[])[0]!
}

function changedAmong(fragment: LanceFragment, addresses: Uint32Array, start: number, end: number) {
  const places = new Uint32Array(end - start)
  const rows = new Uint32Array(end - start)
  let count = 0
  for (let at = start; at < end; at++) {
    const row = addresses[at * 2]!
    if (row >= fragment.total || !hasRow(fragment.rows, row)) continue
    places[count] = at
    rows[count++] = row
  }
  return { places: places.subarray(0, count), rows: rows.subarray(0, count) }
}

function batchesOf(columns: readonly SideColumn[], table: Table): readonly (AnyBatch | undefined)[] {
  return columns.map(({ index, name, type }) =>
    index === undefined ? undefined : asType(batchOf(table.getChild(name)), type, name),
  )
}

function selectionOf(places: Uint32Array): RowSelection {
  const runs = new RunBuilder()
  for (const place of places) runs.add(place, place + 1)
  return { runs: runs.done(), rows: runs.rows, skipped: 0 }
}

/** How each of the rows changed. */
function kindsOf(
  { fragment, rows }: FoundRows,
  { other, updated }: WantedChanges['kinds'],
  start: number,
  end: number,
): Piece[] {
  const pieces: Piece[] = []
  for (let at = start; at < end; ) {
    const isUpdated = hasRow(fragment.updated, rows[at]!)
    let next = at + 1
    while (next < end && hasRow(fragment.updated, rows[next]!) === isUpdated) next++
    pieces.push(...kindColumn(isUpdated ? updated : other, next - at))
    at = next
  }
  return pieces
}
