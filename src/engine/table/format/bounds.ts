import { type AnyBatch, textOf } from '../../arrow/batch.ts'
import type { ColumnStatistics } from '../../predicate/prune/statistics.ts'

/** The part of a column's statistics that describes its values. */
export type Bounds = Omit<ColumnStatistics, 'nullCount'>

/** Which rows of a batch have a value: an Arrow validity bitmap; empty if all have. */
export interface Present {
  readonly bits: Uint8Array
  readonly nulls: number
}

/** Bounds of integers of up to 32 bits. */
export function integerBounds(values: Int32Array, { bits, nulls }: Present, rows: number): Bounds {
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
export function longBounds(
  values: BigInt64Array | BigUint64Array,
  { bits, nulls }: Present,
  rows: number,
): Bounds {
  if (nulls === 0 && values instanceof BigInt64Array) {
    const bounds = safeBounds(new Int32Array(values.buffer, values.byteOffset, rows * 2), rows)
    if (bounds !== undefined) return bounds
  }
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

/** Rows whose bounds are found at once: their values stay in the processor's cache. */
const blockRows = 16_384

/**
 * Bounds of signed integers as doubles, in a third of the time: undefined unless doubles hold all of them exactly. A
 * double is never above that of a greater integer, so no value is outside if the bounds are not. If all upper halves of
 * a block are equal, as for small numbers, comparing the lower ones takes a third of that again.
 */
function safeBounds(halves: Int32Array, rows: number): Bounds | undefined {
  if (rows === 0 || !Number.isSafeInteger(halves[1]! * 4294967296)) return undefined
  let min = Number.POSITIVE_INFINITY
  let max = Number.NEGATIVE_INFINITY
  let alike = true
  for (let start = 0; start < rows; start += blockRows) {
    const block = halves.subarray(2 * start, 2 * Math.min(start + blockRows, rows))
    const span: Span | undefined = alike ? lowerBounds(block) : undefined
    alike = span !== undefined
    const [least, greatest] = span ?? doubleBounds(block)
    if (least < min) min = least
    if (greatest > max) max = greatest
  }
  if (!Number.isSafeInteger(min) || !Number.isSafeInteger(max)) return undefined
  return { min: BigInt(min), max: BigInt(max) }
}

type Span = readonly [min: number, max: number]

/** Bounds of integers whose upper halves are all equal; undefined for others. */
function lowerBounds(halves: Int32Array): Span | undefined {
  const high = halves[1]!
  let others = 0
  // Flipping the sign bit makes signed numbers compare as unsigned ones do.
  let min = 0x7fffffff
  let max = -0x80000000
  for (let i = 0; i < halves.length; i += 2) {
    const low = halves[i]! ^ 0x80000000
    others |= halves[i + 1]! ^ high
    if (low < min) min = low
    if (low > max) max = low
  }
  if (others !== 0) return undefined
  return [high * 4294967296 + ((min ^ 0x80000000) >>> 0), high * 4294967296 + ((max ^ 0x80000000) >>> 0)]
}

function doubleBounds(halves: Int32Array): Span {
  let min = Number.POSITIVE_INFINITY
  let max = Number.NEGATIVE_INFINITY
  for (let i = 0; i < halves.length; i += 2) {
    const value = halves[i + 1]! * 4294967296 + (halves[i]! >>> 0)
    if (value < min) min = value
    if (value > max) max = value
  }
  return [min, max]
}

/** Bounds of floats. NaN is reported separately; -0 is below 0. */
export function floatBounds(
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
    // Both are false for NaN.
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

/** Bytes of a bound; longer values are truncated. */
const longest = 64

/** Bounds of strings, by the order of their UTF-8 bytes. */
export function textBounds(batch: AnyBatch, { bits, nulls }: Present, rows: number): Bounds {
  const bytes = batch.values as Uint8Array
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const offsets = batch.offsets
  let minStart = -1
  let minEnd = 0
  let maxStart = -1
  let maxEnd = 0
  for (let i = 0; i < rows; i++) {
    if (nulls > 0 && ((bits[i >> 3]! >> (i & 7)) & 1) === 0) continue
    const start = Number(offsets[i])
    const end = Number(offsets[i + 1])
    if (minStart < 0 || compare(view, start, end, minStart, minEnd) < 0) {
      minStart = start
      minEnd = end
    }
    if (maxStart < 0 || compare(view, start, end, maxStart, maxEnd) > 0) {
      maxStart = start
      maxEnd = end
    }
  }
  if (minStart < 0) return {}
  const low = bytes.subarray(minStart, minEnd)
  const high = bytes.subarray(maxStart, maxEnd)
  const minExact = low.length <= longest
  const maxExact = high.length <= longest
  const max = maxExact ? textOf(high) : above(textOf(cut(high)))
  return { min: textOf(cut(low)), minExact, ...(max === undefined ? {} : { max, maxExact }) }
}

/** Compares four bytes at a time. */
function compare(view: DataView, a: number, aEnd: number, b: number, bEnd: number): number {
  const end = Math.min(aEnd - a, bEnd - b)
  let i = 0
  for (; i + 4 <= end; i += 4) {
    const difference = view.getUint32(a + i) - view.getUint32(b + i)
    if (difference !== 0) return difference
  }
  for (; i < end; i++) {
    const difference = view.getUint8(a + i) - view.getUint8(b + i)
    if (difference !== 0) return difference
  }
  return aEnd - a - (bEnd - b)
}

/** The bytes up to the last whole character within the limit. */
function cut(bytes: Uint8Array): Uint8Array {
  if (bytes.length <= longest) return bytes
  let end = longest
  while ((bytes[end]! & 0xc0) === 0x80) end--
  return bytes.subarray(0, end)
}

/** A string above every string that begins with `prefix`; undefined if there is none. */
function above(prefix: string): string | undefined {
  const points = Array.from(prefix, (character) => character.codePointAt(0)!)
  for (let last = points.pop(); last !== undefined; last = points.pop()) {
    if (last === 0x10ffff) continue
    // Surrogates are not characters.
    points.push(last === 0xd7ff ? 0xe000 : last + 1)
    return String.fromCodePoint(...points)
  }
  return undefined
}
