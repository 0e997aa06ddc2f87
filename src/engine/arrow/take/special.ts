import { type DataType, Type } from '@uwdata/flechette'
import { type AnyBatch, type BatchParts, dataOf, makeBatch, type Offsets, typeIdsOf } from '../batch.ts'
import { layoutOf } from '../layout.ts'
import { RunBuilder } from './runs.ts'
import { type Piece, takeChild, takeFixed } from './take.ts'

/** Gathers rows of a union. */
export function takeUnion(
  type: DataType,
  pieces: readonly Piece[],
  length: number,
  dense: boolean,
): Partial<BatchParts> {
  if (type.typeId !== Type.Union) throw new TypeError('no union type')
  const typeIds = takeFixed(pieces, 1, Int8Array, length, typeIdsOf) as Int8Array
  if (!dense) {
    const runs = pieces.map((piece) => piece.runs)
    return { typeIds, children: type.children.map((_, i) => takeChild(type, i, pieces, runs)) }
  }
  const offsets = new Int32Array(length)
  const used = type.children.map(() => 0)
  let row = 0
  const runs = pieces.map(({ batch, runs }) => {
    const spans = type.children.map(() => ({
      low: Number.POSITIVE_INFINITY,
      high: 0,
      last: -1,
      rising: true,
    }))
    const ids = typeIdsOf(batch)
    const first = row
    for (let i = 0; i < runs.length; i += 2) {
      for (let r = runs[i]!; r < runs[i + 1]!; r++, row++) {
        const at = batch.offsets[r] as number
        const span = spans[type.typeMap[ids[r]!]!]!
        offsets[row] = at
        span.low = Math.min(span.low, at)
        span.high = Math.max(span.high, at + 1)
        if (at <= span.last) span.rising = false
        span.last = at
      }
    }
    // If rows share a value, all values from the first to the last used one are kept.
    const builders = spans.map(({ low, high, rising }) => {
      const builder = new RunBuilder()
      if (!rising) builder.add(low, high)
      return builder
    })
    for (let r = first; r < row; r++) {
      const child = type.typeMap[typeIds[r]!]!
      const at = offsets[r]!
      const { rising, low } = spans[child]!
      offsets[r] = used[child]! + (rising ? builders[child]!.rows : at - low)
      if (rising) builders[child]!.add(at, at + 1)
    }
    for (const [child, builder] of builders.entries()) used[child]! += builder.rows
    return builders.map((builder) => builder.done())
  })
  return {
    typeIds,
    offsets,
    children: type.children.map((_, child) =>
      takeChild(
        type,
        child,
        pieces,
        runs.map((of) => of[child]!),
      ),
    ),
  }
}

/** Gathers rows of a run-end encoded array. The result has no more runs than the pieces have. */
export function takeRunEnds(type: DataType, pieces: readonly Piece[], length: number): Partial<BatchParts> {
  if (type.typeId !== Type.RunEndEncoded) throw new TypeError('no run-end-encoded type')
  const ends: number[] = []
  let row = 0
  const runs = pieces.map(({ batch, runs }) => {
    const sourceEnds = batch.children[0]!.values as Int32Array
    const values = new RunBuilder()
    let run = 0
    for (let i = 0; i < runs.length; i += 2) {
      let at = runs[i]!
      if (run > 0 && at < Number(sourceEnds[run - 1])) run = 0
      while (at < runs[i + 1]!) {
        while (Number(sourceEnds[run]) <= at) run++
        const end = Math.min(Number(sourceEnds[run]), runs[i + 1]!)
        row += end - at
        at = end
        // Two runs of rows may share a source run: that run just becomes longer.
        if (values.rows > 0 && lastOf(values) === run) ends[ends.length - 1] = row
        else {
          values.add(run, run + 1)
          ends.push(row)
        }
      }
    }
    return values.done()
  })
  return { children: [runEnds(type.children[0].type, ends, length), takeChild(type, 1, pieces, runs)] }
}

function lastOf(values: RunBuilder): number {
  return values.done().at(-1)! - 1
}

function runEnds(type: DataType, ends: readonly number[], length: number): AnyBatch {
  const layout = layoutOf(type)
  if (layout.kind !== 'fixed') throw new TypeError('run ends are no integers')
  if (layout.bytes === 2 && length > 2 ** 15 - 1)
    throw new RangeError(`${length} rows do not fit 16-bit run ends`)
  const values = new layout.array(ends.length)
  const big = values instanceof BigInt64Array
  ends.forEach((end, i) => {
    values[i] = big ? (BigInt(end) as never) : end
  })
  return makeBatch(type, { length: ends.length, values })
}

const maxBuffer = 2 ** 31 - 1

/** Gathers views into one data buffer. Keeps the buffers if a copy would take more, since rows may share bytes. */
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

/** Calls `visit` for every row that is not null, with its index among the selected rows, its view and its size. */
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

/**
 * Gathers list views. Copies their values, unless rows share so many that the copy would be larger than the original.
 */
export function takeListViews(
  type: DataType,
  pieces: readonly Piece[],
  length: number,
  array: typeof Int32Array | typeof BigInt64Array,
): Partial<BatchParts> {
  const starts = new Float64Array(length)
  const sizes = new Float64Array(length)
  let row = 0
  let base = 0
  const runs = pieces.map(({ batch, runs }) => {
    const compact = new RunBuilder()
    const first = row
    let total = 0
    let low = Number.POSITIVE_INFINITY
    let high = 0
    for (let i = 0; i < runs.length; i += 2) {
      for (let r = runs[i]!; r < runs[i + 1]!; r++, row++) {
        const size = batch.isValid(r) || batch.nullCount === 0 ? Number(batch.sizes[r]) : 0
        const start = size === 0 ? 0 : Number(batch.offsets[r])
        starts[row] = start
        sizes[row] = size
        if (size === 0) continue
        total += size
        low = Math.min(low, start)
        high = Math.max(high, start + size)
      }
    }
    if (total > 0 && total > high - low) {
      for (let r = first; r < row; r++) starts[r] = sizes[r] === 0 ? base : starts[r]! - low + base
      base += high - low
      return [low, high]
    }
    for (let r = first; r < row; r++) {
      const start = starts[r]!
      compact.add(start, start + sizes[r]!)
      starts[r] = base
      base += sizes[r]!
    }
    return compact.done()
  })
  if (array === Int32Array && base > 2 ** 31 - 1)
    throw new RangeError(`${base} values do not fit 32-bit offsets`)
  const typed = (numbers: Float64Array): Offsets =>
    array === Int32Array ? Int32Array.from(numbers) : BigInt64Array.from(numbers as never, BigInt)
  return { offsets: typed(starts), sizes: typed(sizes), children: [takeChild(type, 0, pieces, runs)] }
}
