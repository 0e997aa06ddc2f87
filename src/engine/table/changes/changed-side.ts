import type { DataType, Schema } from '@uwdata/flechette'
import type { AnyBatch } from '../../arrow/batch.ts'
import { type Bitmap, countRows, noRows } from '../../arrow/bitmap.ts'
import type { Piece } from '../../arrow/take/take.ts'
import type { ComparedColumn } from './compared-columns.ts'

/** Rows of a fragment that one version has, and the other one may not have. */
export class ChangedFragment {
  readonly rows: Bitmap
  /** Of these, those that are a row of the other version with other values. */
  readonly updated: Bitmap

  /** The fragment has so many rows in all, deleted ones too. */
  constructor(total: number, rows: Bitmap) {
    this.rows = rows
    this.updated = noRows(total)
  }

  get count(): number {
    return countRows(this.rows)
  }
}

/** A column of one of two versions: its index there, and its type in the answer. */
export interface SideColumn {
  readonly index: number | undefined
  readonly name: string
  readonly type: DataType
}

/** The columns of one of two versions. */
export function columnsOf(columns: readonly ComparedColumn[], which: 'from' | 'to'): readonly SideColumn[] {
  return columns.map(({ field, ...index }) => ({ index: index[which], name: field.name, type: field.type }))
}

/** Values of some changed rows of a fragment. */
export interface ChangedValues {
  readonly fragment: ChangedFragment
  /** The numbers of the rows in the fragment. */
  readonly rows: Uint32Array
  /** For each column, with the type in the answer: undefined where the version lacks it. */
  readonly batches: readonly (AnyBatch | undefined)[]
  /** Where a row of `rows` is in the batches. */
  readonly at: (index: number) => number
}

/** Which changed rows are answered, and what is said of them. */
export interface WantedChanges {
  readonly columns: readonly SideColumn[]
  /** How rows changed. */
  readonly kinds: { readonly other: string; readonly updated: string }
  /** Counts down as rows are left out and answered. */
  readonly range: { skip: number; left: number }
  readonly withRowId: boolean
}

/** Some rows of the answer, the bytes of each, and the bytes that were read for them. */
export interface ReadRows {
  readonly pieces: readonly (readonly Piece[])[]
  readonly rows: number
  readonly perRow: number
  readonly bytes: number
}

/** One of two versions, and its rows that the other one may not have. Rows of each engine are read in its own way. */
export interface ChangedSide {
  readonly schema: Schema
  readonly fragments: readonly ChangedFragment[]
  /** Reads the changed rows, in parts. */
  values(columns: readonly SideColumn[]): AsyncIterable<ChangedValues>
  /** Reads the changed rows as they are answered, in parts. */
  answers(wanted: WantedChanges): AsyncIterable<ReadRows>
}
