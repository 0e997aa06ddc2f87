import type { Field } from '@uwdata/flechette'
import type { AnyBatch } from '../batch.ts'
import { compactDictionary } from './compact.ts'
import { RunBuilder, rowsOfRuns } from './runs.ts'
import { assemble, type Piece } from './take.ts'

/**
 * Assembles the pieces of every column, which cover the same rows. The result is usually one batch for each column. It
 * is several batches, cut at the same rows, if a dictionary, 32-bit offsets or 16-bit run ends cannot cover all rows.
 */
export function assembleColumns(
  fields: readonly Field[],
  pieces: readonly (readonly Piece[])[],
): AnyBatch[][] {
  try {
    return [fields.map((field, i) => compactDictionary(assemble(field.type, pieces[i]!)))]
  } catch (error) {
    const rows = pieces[0] ? rowsOf(pieces[0]) : 0
    if (!(error instanceof RangeError) || rows < 2) throw error
    const half = Math.ceil(rows / 2)
    const first = pieces.map((column) => part(column, 0, half))
    const second = pieces.map((column) => part(column, half, rows))
    return [...assembleColumns(fields, first), ...assembleColumns(fields, second)]
  }
}

export function rowsOf(pieces: readonly Piece[]): number {
  let rows = 0
  for (const { runs } of pieces) rows += rowsOfRuns(runs)
  return rows
}

/** The pieces' rows from `start` up to `end`, counted over all of them. */
export function part(pieces: readonly Piece[], start: number, end: number): Piece[] {
  const found: Piece[] = []
  let at = 0
  for (const { batch, runs } of pieces) {
    const inside = new RunBuilder()
    for (let i = 0; i < runs.length && at < end; i += 2) {
      const size = runs[i + 1]! - runs[i]!
      const from = Math.max(0, start - at)
      const to = Math.min(size, end - at)
      if (from < to) inside.add(runs[i]! + from, runs[i]! + to)
      at += size
    }
    if (inside.rows > 0) found.push({ batch, runs: inside.done() })
    if (at >= end) break
  }
  return found
}
