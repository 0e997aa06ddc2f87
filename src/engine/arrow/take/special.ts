import { type DataType, Type } from '@uwdata/flechette'
import { type AnyBatch, type BatchParts, makeBatch, typeIdsOf } from '../batch.ts'
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
