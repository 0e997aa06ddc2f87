import type { AnyBatch, BatchParts } from '../batch.ts'
import { dataOf } from '../batch.ts'
import type { Piece } from './take.ts'

const maxBuffer = 2 ** 31 - 1

/**
 * Gathers values of a view type into one data buffer, or keeps the buffers as they are where rows share
 * bytes so much that copying would take more.
 */
export function takeViews(pieces: readonly Piece[], length: number): Partial<BatchParts> {
  const values = new Uint8Array(length * 16)
  const target = new DataView(values.buffer)
  const long = longBytes(pieces)
  const kept = new Map<Uint8Array, number>()
  const keep = long > maxBuffer || long > dataBytes(pieces)
  const data = keep || long === 0 ? undefined : new Uint8Array(long)
  let used = 0
  let to = 0
  for (const { batch, runs } of pieces) {
    const buffers = dataOf(batch)
    forEachValid(batch, runs, (at, source, size) => {
      const here = (to + at) * 16
      target.setInt32(here, size, true)
      if (size <= 12) {
        for (let i = 0; i < size; i++) values[here + 4 + i] = source.getUint8(i + 4)
        return
      }
      target.setInt32(here + 4, source.getInt32(4, true), true)
      const buffer = buffers[source.getInt32(8, true)]!
      const start = source.getInt32(12, true)
      if (data) {
        data.set(buffer.subarray(start, start + size), used)
        target.setInt32(here + 12, used, true)
        used += size
      } else {
        if (!kept.has(buffer)) kept.set(buffer, kept.size)
        target.setInt32(here + 8, kept.get(buffer)!, true)
        target.setInt32(here + 12, start, true)
      }
    })
    for (let i = 0; i < runs.length; i += 2) to += runs[i + 1]! - runs[i]!
  }
  return { values, data: data ? [data] : [...kept.keys()] }
}

/** Calls `visit` for every row that is not null: its place among the runs' rows, its view and its size. */
function forEachValid(
  batch: AnyBatch,
  runs: ArrayLike<number>,
  visit: (at: number, view: DataView, size: number) => void,
): void {
  const views = batch.values as Uint8Array
  let at = 0
  for (let i = 0; i < runs.length; i += 2) {
    for (let row = runs[i]!; row < runs[i + 1]!; row++, at++) {
      if (batch.nullCount > 0 && !batch.isValid(row)) continue
      const view = new DataView(views.buffer, views.byteOffset + row * 16, 16)
      visit(at, view, view.getInt32(0, true))
    }
  }
}

function longBytes(pieces: readonly Piece[]): number {
  let sum = 0
  for (const { batch, runs } of pieces) {
    forEachValid(batch, runs, (_at, _view, size) => {
      if (size > 12) sum += size
    })
  }
  return sum
}

function dataBytes(pieces: readonly Piece[]): number {
  const buffers = new Set(pieces.flatMap(({ batch }) => dataOf(batch)))
  let sum = 0
  for (const buffer of buffers) sum += buffer.length
  return sum
}
