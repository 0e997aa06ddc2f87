import type { DataType } from '@uwdata/flechette'
import type { BatchParts, Offsets } from '../batch.ts'
import { RunBuilder } from './runs.ts'
import { type Piece, takeChild } from './take.ts'

/**
 * Lists that view their values anywhere: gathered compactly, unless rows share values so much that this
 * would take more than keeping the values as they are.
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
