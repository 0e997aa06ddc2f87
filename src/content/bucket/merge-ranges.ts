import type { ByteRange } from '../content.ts'

/** Parts that are read by one request, by their place among those that were asked for. */
export interface MergedRange extends ByteRange {
  readonly parts: readonly number[]
}

/** Bytes between two parts that are rather read for nothing than cost a request. Their transfer takes about as long. */
const mostBetween = 1 << 20
/** Bytes from which on another request is faster, since both travel at once. */
const mostMerged = 8 << 20

/**
 * Merges parts of an object that lie near each other. A request reads at most as many bytes for nothing as it reads for
 * somebody, or {@link mostBetween}. The ranges come in the order of the object.
 */
export function mergeRanges(ranges: readonly ByteRange[]): MergedRange[] {
  const merged: MergedRange[] = []
  let last: { start: number; end: number; wanted: number; parts: number[] } | undefined
  const inOrder = ranges.map(({ start, end }, part) => ({ start, end, part }))
  for (const { start, end, part } of inOrder.sort((a, b) => a.start - b.start || a.end - b.end)) {
    if (last !== undefined) {
      const until = Math.max(last.end, end)
      const wanted: number = last.wanted + Math.max(0, until - Math.max(last.end, start))
      const size = until - last.start
      const isInside = end <= last.end
      const isNear = start - last.end <= mostBetween && size - wanted <= Math.max(mostBetween, wanted)
      if (isInside || (isNear && size <= mostMerged)) {
        last.end = until
        last.wanted = wanted
        last.parts.push(part)
        continue
      }
    }
    last = { start, end, wanted: end - start, parts: [part] }
    merged.push(last)
  }
  return merged
}
