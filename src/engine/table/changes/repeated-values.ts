import type { DataType } from '@uwdata/flechette'
import { type AnyBatch, makeBatch } from '../../arrow/batch.ts'
import { nullBatch } from '../../arrow/null-batch.ts'
import type { Piece } from '../../arrow/take/take.ts'
import { changeType } from './compared-columns.ts'

/** Rows of a batch that is repeated for as many rows as are needed. */
const repeatedRows = 16_384

/** Nulls, for so many rows. */
export function nullColumn(type: DataType, rows: number): Piece[] {
  return repeated((count) => nullBatch(type, count, Number.POSITIVE_INFINITY), rows)
}

/** The way in which so many rows changed. */
export function kindColumn(kind: string, rows: number): Piece[] {
  return repeated((count) => textBatch(kind, count), rows)
}

function repeated(make: (rows: number) => AnyBatch, rows: number): Piece[] {
  const pieces: Piece[] = []
  const batch = make(Math.min(rows, repeatedRows))
  for (let at = 0; at < rows; at += batch.length)
    pieces.push({ batch, runs: [0, Math.min(batch.length, rows - at)] })
  return pieces
}

/** A batch of one text, again and again. */
function textBatch(text: string, length: number): AnyBatch {
  const one = Buffer.from(text)
  const values = new Uint8Array(one.length * length)
  const offsets = new Int32Array(length + 1)
  for (let row = 0; row < length; row++) {
    values.set(one, row * one.length)
    offsets[row + 1] = (row + 1) * one.length
  }
  return makeBatch(changeType.type, { length, offsets, values })
}
