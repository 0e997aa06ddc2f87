import type { AnyBatch } from '../../arrow/batch.ts'
import type { ColumnStatistics } from '../../predicate/prune/statistics.ts'
import type { Present } from './column-statistics.ts'

type Bounds = Omit<ColumnStatistics, 'nullCount'>

/** Bytes a bound may take; longer values are cut. */
const longest = 64

/** Bounds of strings, by the order of their UTF-8 bytes. */
export function measureTexts(batch: AnyBatch, { bits, nulls }: Present, rows: number): Bounds {
  const bytes = batch.values as Uint8Array
  const offsets = batch.offsets
  let minStart = -1
  let minEnd = 0
  let maxStart = -1
  let maxEnd = 0
  for (let i = 0; i < rows; i++) {
    if (nulls > 0 && ((bits[i >> 3]! >> (i & 7)) & 1) === 0) continue
    const start = Number(offsets[i])
    const end = Number(offsets[i + 1])
    if (minStart < 0 || compare(bytes, start, end, minStart, minEnd) < 0) {
      minStart = start
      minEnd = end
    }
    if (maxStart < 0 || compare(bytes, start, end, maxStart, maxEnd) > 0) {
      maxStart = start
      maxEnd = end
    }
  }
  if (minStart < 0) return {}
  const low = bytes.subarray(minStart, minEnd)
  const high = bytes.subarray(maxStart, maxEnd)
  const minExact = low.length <= longest
  const maxExact = high.length <= longest
  const max = maxExact ? text(high) : above(text(cut(high)))
  return { min: text(cut(low)), minExact, ...(max === undefined ? {} : { max, maxExact }) }
}

function compare(bytes: Uint8Array, a: number, aEnd: number, b: number, bEnd: number): number {
  const end = Math.min(aEnd - a, bEnd - b)
  for (let i = 0; i < end; i++) {
    const difference = bytes[a + i]! - bytes[b + i]!
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

const utf8 = new TextDecoder('utf-8', { ignoreBOM: true })

function text(bytes: Uint8Array): string {
  return utf8.decode(bytes)
}

/** A string above every one that begins with `prefix`; undefined when there is none. */
function above(prefix: string): string | undefined {
  const points = Array.from(prefix, (character) => character.codePointAt(0)!)
  for (let last = points.pop(); last !== undefined; last = points.pop()) {
    if (last === 0x10ffff) continue
    // The code points of surrogates are no characters.
    points.push(last === 0xd7ff ? 0xe000 : last + 1)
    return String.fromCodePoint(...points)
  }
  return undefined
}
