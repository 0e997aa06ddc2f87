import { Type } from '@uwdata/flechette'
import type { AnyBatch } from '../../arrow/batch.ts'
import type { ColumnStatistics } from '../../predicate/prune/statistics.ts'
import type { KeyValues } from './key-values.ts'

/** Checks by the statistics of a fragment's column whether it may have one of some values. */
export type KeyRange = (statistics: ColumnStatistics | undefined, rows: number) => boolean

/** Most keys that are sorted, in order to exclude fragments between two of them, too. */
const mostSorted = 131_072

/** The range of all values of a key's column. */
export function keyRange(batch: AnyBatch, values: KeyValues): KeyRange {
  const within = batch.length > mostSorted ? undefined : (numberRange(batch) ?? textRange(batch, values))
  return (statistics, rows) => {
    if (statistics === undefined) return true
    if (statistics.nullCount === rows) return false
    const { min, max, hasNaN } = statistics
    // Only NaN is outside of the bounds.
    if (min === undefined || max === undefined || hasNaN === true || within === undefined) return true
    return within(min, max)
  }
}

type Within = (min: unknown, max: unknown) => boolean

function numberRange(batch: AnyBatch): Within | undefined {
  switch (batch.type.typeId) {
    case Type.Float:
      if (batch.type.precision === 0) return undefined
      break
    case Type.Int:
    case Type.Date:
    case Type.Time:
    case Type.Timestamp:
    case Type.Duration:
      break
    default:
      return undefined
  }
  const all = (batch.values as Float64Array).subarray(0, batch.length)
  const present = batch.nullCount === 0 ? all.slice() : all.filter((_, i) => batch.isValid(i))
  const sorted = present.sort()
  return (min, max) => {
    let low = 0
    for (let high = sorted.length; low < high; ) {
      const middle = (low + high) >> 1
      if (sorted[middle]! < (min as number)) low = middle + 1
      else high = middle
    }
    return low < sorted.length && sorted[low]! <= (max as number)
  }
}

function textRange(batch: AnyBatch, values: KeyValues): Within | undefined {
  if (batch.type.typeId !== Type.Utf8 && batch.type.typeId !== Type.LargeUtf8) return undefined
  if (values.kind !== 'bytes') return undefined
  const { bytes, starts, ends } = values
  let least: Uint8Array | undefined
  let most: Uint8Array | undefined
  for (let i = 0; i < batch.length; i++) {
    if (batch.nullCount > 0 && !batch.isValid(i)) continue
    const value = bytes.subarray(starts[i], ends[i])
    if (least === undefined || Buffer.compare(value, least) < 0) least = value
    if (most === undefined || Buffer.compare(value, most) > 0) most = value
  }
  return (min, max) =>
    least !== undefined &&
    most !== undefined &&
    Buffer.compare(Buffer.from(min as string), most) <= 0 &&
    Buffer.compare(Buffer.from(max as string), least) >= 0
}
