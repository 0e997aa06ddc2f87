import type { ColumnStatistics } from '../../predicate/prune/statistics.ts'
import type { Present } from './column-statistics.ts'

type Bounds = Omit<ColumnStatistics, 'nullCount'>

/** Bounds of integers of up to 32 bits. */
export function measureIntegers(values: Int32Array, { bits, nulls }: Present, rows: number): Bounds {
  let min = Number.POSITIVE_INFINITY
  let max = Number.NEGATIVE_INFINITY
  if (nulls === 0) {
    for (let i = 0; i < rows; i++) {
      const value = values[i]!
      if (value < min) min = value
      if (value > max) max = value
    }
  } else {
    for (let i = 0; i < rows; i++) {
      if (((bits[i >> 3]! >> (i & 7)) & 1) === 0) continue
      const value = values[i]!
      if (value < min) min = value
      if (value > max) max = value
    }
  }
  return { min, max }
}

/** Bounds of 64-bit integers, compared as two halves: reading them as bigint would take ten times as long. */
export function measureLongs(
  values: BigInt64Array | BigUint64Array,
  { bits, nulls }: Present,
  rows: number,
): Bounds {
  const words = new Uint32Array(values.buffer, values.byteOffset, rows * 2)
  // Flipping the sign bit makes signed numbers compare as unsigned ones do.
  const flip = values instanceof BigInt64Array ? 0x80000000 : 0
  let min = -1
  let minHigh = 0
  let minLow = 0
  let max = -1
  let maxHigh = 0
  let maxLow = 0
  for (let i = 0; i < rows; i++) {
    if (nulls > 0 && ((bits[i >> 3]! >> (i & 7)) & 1) === 0) continue
    const low = words[2 * i]!
    const high = (words[2 * i + 1]! ^ flip) >>> 0
    if (min < 0 || high < minHigh || (high === minHigh && low < minLow)) {
      min = i
      minHigh = high
      minLow = low
    }
    if (max < 0 || high > maxHigh || (high === maxHigh && low > maxLow)) {
      max = i
      maxHigh = high
      maxLow = low
    }
  }
  return { min: values[min]!, max: values[max]! }
}

/** Bounds of floats. NaN is kept apart; -0 is below 0. */
export function measureFloats(
  values: Float32Array | Float64Array,
  { bits, nulls }: Present,
  rows: number,
): Bounds {
  let min = Number.POSITIVE_INFINITY
  let max = Number.NEGATIVE_INFINITY
  let numbers = 0
  let present = 0
  let minusZero = false
  let plusZero = false
  for (let i = 0; i < rows; i++) {
    if (nulls > 0 && ((bits[i >> 3]! >> (i & 7)) & 1) === 0) continue
    present++
    const value = values[i]!
    // Neither for NaN.
    if (value <= min) min = value
    if (value >= max) max = value
    if (!Number.isNaN(value)) numbers++
    if (value === 0) {
      if (Object.is(value, -0)) minusZero = true
      else plusZero = true
    }
  }
  const hasNaN = numbers < present
  if (numbers === 0) return { hasNaN }
  if (min === 0) min = minusZero ? -0 : 0
  if (max === 0) max = plusZero ? 0 : -0
  return { min, max, hasNaN }
}
