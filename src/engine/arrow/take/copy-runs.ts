import type { Values } from '../batch.ts'
import { rowsAt, rowsOfRuns } from './runs.ts'

/*
 * Updated rows are scattered, so most runs are short, and a call for each of them would take longer than its copy.
 * There is one loop for each element size: V8 would compile a loop for arrays of all types for none of them, and it
 * would take five times as long.
 */

/** Up to this average run length, rows are copied one by one. */
const fewRows = 4

/** Run length, in elements, from which on a bulk copy is faster than a loop. */
const longWords = 64
const longBytes = 192

/** Copies runs of rows of `width` elements each to `to`, and returns the end position. */
export function copyRuns(
  source: Values,
  runs: ArrayLike<number>,
  width: number,
  target: Values,
  to: number,
): number {
  // A few runs of any length.
  if (!(runs instanceof Int32Array) || runs.length <= 2) return copyEach(source, runs, width, target, to)
  switch (source.BYTES_PER_ELEMENT) {
    case 1:
      return copyBytes(viewOf(source, Uint8Array), runs, width, viewOf(target, Uint8Array), to)
    case 2:
      return copyHalves(viewOf(source, Uint16Array), runs, width, viewOf(target, Uint16Array), to)
    case 4:
      return copyWords(viewOf(source, Uint32Array), runs, width, viewOf(target, Uint32Array), to)
    default: {
      // Two words per row: float copies would lose NaN payload bits, and bigints would be heap objects.
      const [from, into] = [viewOf(source, Uint32Array), viewOf(target, Uint32Array)]
      return copyWords(from, runs, width * 2, into, to * 2) / 2
    }
  }
}

function viewOf<T extends Values>(
  { buffer, byteOffset, byteLength }: Values,
  View: {
    new (buffer: ArrayBufferLike, byteOffset: number, length: number): T
    readonly BYTES_PER_ELEMENT: number
  },
): T {
  return new View(buffer, byteOffset, byteLength / View.BYTES_PER_ELEMENT)
}

function copyEach(
  source: Values,
  runs: ArrayLike<number>,
  width: number,
  target: Values,
  to: number,
): number {
  let at = to
  for (let i = 0; i < runs.length; i += 2) {
    const part = source.subarray(runs[i]! * width, runs[i + 1]! * width)
    target.set(part as never, at)
    at += part.length
  }
  return at
}

function copyWords(
  source: Uint32Array,
  runs: Int32Array,
  width: number,
  target: Uint32Array,
  to: number,
): number {
  if (width <= 2 && rowsOfRuns(runs) * 2 < runs.length * fewRows) {
    const rows = rowsAt(runs)
    if (width === 1) copyOne(source, rows, target, to)
    else copyTwo(source, rows, target, to)
    return to + rows.length * width
  }
  let at = to
  for (let i = 0; i < runs.length; i += 2) {
    let from = runs[i]! * width
    const end = runs[i + 1]! * width
    if (end - from > longWords) {
      target.set(source.subarray(from, end), at)
      at += end - from
    } else {
      while (from < end) target[at++] = source[from++]!
    }
  }
  return at
}

function copyOne(source: Uint32Array, rows: Int32Array, target: Uint32Array, to: number): void {
  for (let i = 0; i < rows.length; i++) target[to + i] = source[rows[i]!]!
}

function copyTwo(source: Uint32Array, rows: Int32Array, target: Uint32Array, to: number): void {
  let at = to
  for (let i = 0; i < rows.length; i++) {
    const from = rows[i]! * 2
    target[at++] = source[from]!
    target[at++] = source[from + 1]!
  }
}

function copyHalves(
  source: Uint16Array,
  runs: Int32Array,
  width: number,
  target: Uint16Array,
  to: number,
): number {
  let at = to
  for (let i = 0; i < runs.length; i += 2) {
    let from = runs[i]! * width
    const end = runs[i + 1]! * width
    if (end - from > longWords) {
      target.set(source.subarray(from, end), at)
      at += end - from
    } else {
      while (from < end) target[at++] = source[from++]!
    }
  }
  return at
}

/** Copies four bytes at a time. The next run overwrites bytes written past the end of a run. */
function copyBytes(
  source: Uint8Array,
  runs: Int32Array,
  width: number,
  target: Uint8Array,
  to: number,
): number {
  const given = new DataView(source.buffer, source.byteOffset, source.byteLength)
  const taken = new DataView(target.buffer, target.byteOffset, target.byteLength)
  const lastFrom = source.length - 4
  const lastTo = target.length - 4
  let at = to
  for (let i = 0; i < runs.length; i += 2) {
    let from = runs[i]! * width
    const end = runs[i + 1]! * width
    const size = end - from
    if (size > longBytes) {
      target.set(source.subarray(from, end), at)
    } else if (end <= lastFrom && at + size <= lastTo) {
      for (let k = 0; k < size; k += 4) taken.setInt32(at + k, given.getInt32(from + k, true), true)
    } else {
      for (let k = at; from < end; k++, from++) target[k] = source[from]!
    }
    at += size
  }
  return at
}

/** Copies runs of bits to a target whose bits there must be 0, and returns the end position. */
export function copyBitRuns(
  source: Uint8Array,
  runs: ArrayLike<number>,
  target: Uint8Array,
  to: number,
): number {
  let at = to
  for (let i = 0; i < runs.length; i += 2) {
    for (let row = runs[i]!; row < runs[i + 1]!; row++, at++) {
      target[at >> 3]! |= ((source[row >> 3]! >> (row & 7)) & 1) << (at & 7)
    }
  }
  return at
}

/**
 * Writes consecutive offsets from `at` on, after index `row` of `target`. Returns their runs of values, and the new
 * end.
 */
export function shiftOffsets(
  source: Int32Array,
  runs: Int32Array,
  target: Int32Array,
  row: number,
  at: number,
): { readonly runs: Int32Array; readonly end: number } {
  const values = new Int32Array(runs.length)
  let count = 0
  let last = -1
  let to = row
  let end = at
  for (let i = 0; i < runs.length; i += 2) {
    const from = runs[i]!
    const until = runs[i + 1]!
    const first = source[from]!
    const shift = end - first
    for (let r = from; r < until; r++) target[++to] = source[r + 1]! + shift
    const next = source[until]!
    end += next - first
    if (next === first) continue
    if (first === last) {
      values[count - 1] = next
    } else {
      values[count++] = first
      values[count++] = next
    }
    last = next
  }
  return { runs: count === values.length ? values : values.subarray(0, count), end }
}
