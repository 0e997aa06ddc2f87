import { type Field, Type } from '@uwdata/flechette'
import { type AnyBatch, dictionaryOf, makeBatch, makeColumn, partsOf, type Values } from '../batch.ts'
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

/**
 * Reduces a dictionary to the entries in use if it has far more. Otherwise a few rows out of many would keep all
 * entries in memory. Other batches are returned unchanged.
 */
export function compactDictionary(batch: AnyBatch): AnyBatch {
  const { type } = batch
  if (type.typeId !== Type.Dictionary) return batch
  const dictionary = dictionaryOf(batch)
  if (dictionary.length <= 2 * batch.length + 64) return batch
  const indices = batch.values as Int32Array
  const used = new Uint8Array(dictionary.length)
  for (let i = 0; i < batch.length; i++) {
    if (batch.nullCount === 0 || batch.isValid(i)) used[Number(indices[i])] = 1
  }
  const newIndices = new Int32Array(dictionary.length)
  let next = 0
  let at = 0
  const pieces = dictionary.data.map((entries) => {
    const runs = new RunBuilder()
    for (let i = 0; i < entries.length; i++, at++) {
      if (used[at] === 0) continue
      newIndices[at] = next++
      runs.add(i, i + 1)
    }
    return { batch: entries as AnyBatch, runs: runs.done() }
  })
  const values = new (type.indices.values as new (length: number) => Values)(batch.length)
  const big = values instanceof BigInt64Array || values instanceof BigUint64Array
  for (let i = 0; i < batch.length; i++) {
    const newIndex = newIndices[Number(indices[i])] ?? 0
    values[i] = (big ? BigInt(newIndex) : newIndex) as never
  }
  const entries = makeColumn(type.dictionary, [assemble(type.dictionary, pieces)])
  return makeBatch(type, { ...partsOf(batch), values, dictionary: entries })
}

/** Copies the batch if it views small parts of large buffers, which it would keep in memory. */
export function detach(batch: AnyBatch): AnyBatch {
  const parts: Record<string, unknown> = { ...partsOf(batch) }
  for (const name of ['validity', 'values', 'offsets', 'sizes', 'typeIds']) {
    const buffer = parts[name] as Uint8Array | Int32Array | undefined
    if (!buffer || buffer.byteLength * 2 >= buffer.buffer.byteLength) continue
    // The `slice` of a Buffer is a view.
    parts[name] = buffer instanceof Uint8Array ? new Uint8Array(buffer) : buffer.slice()
  }
  if (batch.children) parts.children = batch.children.map((child) => detach(child as AnyBatch))
  return makeBatch(batch.type, parts as never)
}
