/** Part of an object: the bytes from `start` up to `end`. */
interface ByteRange {
  readonly start: number
  readonly end: number
}

/** Parts that are read by one request, by their place among those that were asked for. */
export interface MergedRange extends ByteRange {
  readonly parts: readonly number[]
}

/** Bytes between two parts that are rather read for nothing than cost a request. Their transfer takes about as long. */
const requestCost = 1 << 20
/** The same where a part is a call by itself that opens a file, or copies. */
const callCost = 64 << 10
/** What a read costs from which on it goes over a network. */
const networkCost = 256 << 10
/** Bytes from which on another request is faster, since both travel at once. */
const mostMerged = 8 << 20

/** What tells how a content reads. */
interface Readable {
  readonly readCost?: number | undefined
  readonly getRanges?: unknown
}

/** How many bytes are read in the time that one more read of a content takes. */
export function readCostOf({ readCost, getRanges }: Readable): number {
  return readCost ?? (getRanges === undefined ? callCost : requestCost)
}

/** Whether each read of a content is a request over a network. */
export function isFar(content: Readable): boolean {
  return readCostOf(content) >= networkCost
}

/**
 * Merges parts of an object that lie near each other. A read reads at most as many bytes for nothing as it reads for
 * somebody, or as many as one more read costs. The ranges come in the order of the object.
 */
export function mergeRanges(ranges: readonly ByteRange[], readCost = requestCost): MergedRange[] {
  const merged: MergedRange[] = []
  let last: { start: number; end: number; wanted: number; parts: number[] } | undefined
  const inOrder = ranges.map(({ start, end }, part) => ({ start, end, part }))
  for (const { start, end, part } of inOrder.sort((a, b) => a.start - b.start || a.end - b.end)) {
    if (last !== undefined) {
      const until = Math.max(last.end, end)
      const wanted: number = last.wanted + Math.max(0, until - Math.max(last.end, start))
      const size = until - last.start
      const isInside = end <= last.end
      const isNear = start - last.end <= readCost && size - wanted <= Math.max(readCost, wanted)
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
